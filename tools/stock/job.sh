# The machine's job in the checkout; arguments go to `./lab run`. A failed step does not stop the others.
status=0

step() {
    began_s=$(date +%s)
    "$@" || status=1
    echo "stock: $(($(date +%s) - began_s)) s: $*"
}

nothing_is_left() {
    left=$(docker ps -aq; docker volume ls -q; docker images -q 'tuneproof/*'; docker network ls -q --filter type=custom)
    echo "left: ${left:-nothing}"
    test -z "$left"
}

step ./lab doctor
step ./lab run -m "not timing" "$@"
# Tests of timing do not suit an emulated CPU; other time limits grow with the time that a container takes to start.
step ./lab test tests/lab -m "not timing and not slow"
step .venv/bin/python -m tests.lab.sigkill 5
step ./lab clean
step nothing_is_left
exit $status
