. t/check.sh
check "greets by name" "Hello, Ada!" "$(sh bin/greet Ada 2>/dev/null)"
check "greets the world without a name" "Hello, world!" "$(sh bin/greet 2>/dev/null)"
