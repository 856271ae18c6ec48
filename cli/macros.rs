//! What is printed and what fails, in the words of `format!`; and the commands, each a row of its group.

/// Prints one line for people, on stderr.
macro_rules! say {
    ($($words:tt)*) => { $crate::display::print_line(&format!($($words)*)) };
}

/// Prints text on stdout, as data for people or programs.
macro_rules! data {
    ($($words:tt)*) => { $crate::display::print_data(&format!($($words)*)) };
}

/// What failed, a lower-case fragment, with exit code 1.
macro_rules! failure {
    ($($words:tt)*) => { $crate::failure::CommandFailure::new(format!($($words)*)) };
}

/// Commands that belong together. A row is a command with its help and the type of its arguments, which carries it out.
macro_rules! commands {
    ($(#[$about:meta])* $group:ident { $($(#[$help:meta])* $command:ident($arguments:ty),)* }) => {
        $(#[$about])*
        #[derive(clap::Subcommand)]
        pub(crate) enum $group {
            $($(#[$help])* $command($arguments),)*
        }

        impl Perform for $group {
            async fn perform(self, start: &std::path::Path) -> Result {
                match self {
                    $(Self::$command(arguments) => Box::pin(arguments.perform(start)).await,)*
                }
            }
        }
    };
}
