//! history

use super::case::green;
