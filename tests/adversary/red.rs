//! red

use super::case::green;
