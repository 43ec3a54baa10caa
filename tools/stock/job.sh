# What the machine does with the checkout; arguments go to `./lab run`. Every step is taken, whatever became of the others.
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
# What a start costs here, the lab's limits scale with; what is timed otherwise is not for an emulated CPU.
step ./lab test tests/lab -m "not timing and not slow"
step .venv/bin/python -m tests.lab.sigkill 5
step ./lab clean
step nothing_is_left
exit $status
