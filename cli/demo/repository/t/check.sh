# check NAME EXPECTED ACTUAL prints one TAP result.
check() {
    if [ "$2" = "$3" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        echo "# expected '$2', got '$3'"
    fi
}
