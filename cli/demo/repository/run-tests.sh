#!/bin/sh
# Runs every test in t/ and prints one TAP stream.
cd "$(dirname "$0")" || exit 1
results=$(for file in t/*.t; do
    [ -e "$file" ] && sh "$file" 2>&1 | sed "s|^\(not \)\{0,1\}ok - |&${file#t/}: |"
done)
total=$(printf '%s\n' "$results" | grep -c '^\(not \)\{0,1\}ok - ')
printf 'TAP version 13\n1..%s\n' "$total"
[ "$total" = 0 ] || printf '%s\n' "$results"
! printf '%s\n' "$results" | grep -q '^not ok'
