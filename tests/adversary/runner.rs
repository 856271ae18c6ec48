//! runner

use super::case::green;
