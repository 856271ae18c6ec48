//! inputs

use super::case::green;
