//! python

use super::case::green;
