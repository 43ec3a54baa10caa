"""Causes that make requests fail, and that nginx's error log may name: one function for each.

Before nginx 1.29.7, upstream connections are kept only if an upstream block enables it (keepalive). If a backend closes
one while a request is on its way, nginx logs "upstream prematurely closed connection", and retries only idempotent
requests (ngx_http_upstream_next). Keepalive connections and new ones look alike in the logs.
"""

from collections import Counter
from typing import Final

from tuneproof.explain.diagnosis.case import Case
from tuneproof.explain.diagnosis.cause_texts import BOTH_LEGS
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause, CauseAssessment
from tuneproof.explain.diagnosis.shares import lower_limit
from tuneproof.explain.diagnosis.signs.error_logs import weigh
from tuneproof.explain.diagnosis.signs.legs import Leg, captured_services
from tuneproof.explain.diagnosis.signs.log_gaps import refute
from tuneproof.explain.diagnosis.thresholds import ENOUGH_EVENTS, ENOUGH_REQUESTS, TOUCHED_SHARE
from tuneproof.explain.parse.error_log import Event

BAD_GATEWAY: Final = 502
# About nine in ten of Linux's default ip_local_port_range, 32768 to 60999.
MANY_PORTS: Final = 25_000
# Error pages, such as one for maintenance, often replace a 502 with one of these.
_INSTEAD_OF_502: Final = (500, 503)
# The error log contains local time without a zone, and zones differ by whole quarters of an hour.
QUARTER_S: Final = 900
# The times in the capture and the log are truncated to seconds, and a worker's clock stops during a loop iteration.
_AROUND_S: Final = range(-1, 3)

_ERROR_LOG: Final = "tail -F /var/log/nginx/error.log | grep -E 'upstream|assign requested'"
_NOTICES: Final = "error_log /var/log/nginx/error.log notice; (in nginx.conf, to see when workers exit)"
_PORTS: Final = "nsenter -t PID -n sh -c 'ss -tan | wc -l; cat /proc/sys/net/ipv4/ip_local_port_range'"


def no_port(evidence: EvidenceSet) -> CauseAssessment:
    """Look for connections that nginx could not open because no local port was free (EADDRNOTAVAIL from connect(2))."""
    case = Case(Cause.NO_PORT)
    weigh(evidence, case, Event.NO_PORT)
    for named in evidence.sockets:
        peers = Counter(entry.peer for entry in named.content.entries if entry.state != "LISTEN")
        for peer, number in peers.most_common(1):
            if number >= MANY_PORTS:
                case.suggests(f"{number} sockets to {peer}: most of the default ip_local_port_range.", named.name)
    _no_502(evidence, case)
    return case.assessment(_PORTS, _ERROR_LOG)


def no_live_upstream(evidence: EvidenceSet) -> CauseAssessment:
    """Look for requests for which every server of an upstream block was considered down."""
    case = Case(Cause.NO_LIVE_UPSTREAM)
    weigh(evidence, case, Event.NONE_LEFT)
    _no_502(evidence, case)
    return case.assessment(_ERROR_LOG)


def kept_connection_closed(evidence: EvidenceSet) -> CauseAssessment:
    """Look for backends that close a keepalive connection while a request is on its way."""
    case = Case(Cause.KEPT_CONNECTION_CLOSED)
    for where in captured_services(evidence, Leg.BACK, Leg.UNKNOWN):
        service = where.service
        reused = service.hung_up_reused_flows
        text = f"{where.label} closed {reused} of {service.flows} connections while a request was on its way, each "
        text += "after an answer to an earlier request"
        if reused >= ENOUGH_EVENTS and lower_limit(reused, service.requests) >= TOUCHED_SHARE:
            new = service.hung_up_flows - reused
            if where.leg is Leg.BACK and new < reused:
                case.proves(f"{text}.", where.file, touched=reused / service.requests)
            else:
                case.suggests(f"{text}, and {new} without one.", where.file, touched=reused / service.requests)
        elif reused and where.leg is Leg.BACK:
            case.affects_few(f"{text}, in {service.requests} requests.", where.file)
        elif service.requests >= ENOUGH_REQUESTS and where.leg is Leg.BACK and not service.hung_up_flows:
            text = f"{where.label} closed no connection during a request, in {service.requests} requests."
            case.refutes(text, where.file)
    weigh(evidence, case, Event.UNANSWERED, proves=False)
    return case.assessment(BOTH_LEGS, _ERROR_LOG)


def reload(evidence: EvidenceSet) -> CauseAssessment:
    """Look for connections that nginx closed during a request, as workers do when they exit."""
    case = Case(Cause.RELOAD)
    left = {int(at.timestamp()) for log in evidence.error_logs for at in log.content.workers_left}
    around = {(second + offset_s) % QUARTER_S for second in left for offset_s in _AROUND_S}
    for where in captured_services(evidence, Leg.FRONT, Leg.UNKNOWN):
        service = where.service
        near = sum(number for second, number in service.hung_up_seconds.items() if second % QUARTER_S in around)
        text = f"{where.label} closed {service.hung_up_flows} of {service.flows} connections during a request"
        if (
            service.hung_up_flows < ENOUGH_EVENTS
            or lower_limit(service.hung_up_flows, service.requests) < TOUCHED_SHARE
        ):
            if service.requests >= ENOUGH_REQUESTS:
                case.refutes(f"{text}, in {service.requests} requests.", where.file)
        # More connections were closed near a worker's exit than chance explains.
        elif lower_limit(near, service.hung_up_flows) > len(around) / QUARTER_S:
            names = [log.name for log in evidence.error_logs if log.content.workers_left]
            case.proves(
                f"{text}, {near} of them within 2 s of a worker's exit in the error log.",
                where.file,
                *names,
                touched=service.hung_up_flows / service.requests,
            )
        else:
            touched = service.hung_up_flows / service.requests
            does = (
                "as during a reload" if where.leg is Leg.FRONT else "as nginx at a reload, or an exiting backend, does"
            )
            case.suggests(f"{text}, {does}.", where.file, touched=touched)
    return case.assessment(_NOTICES)


def _no_502(evidence: EvidenceSet, case: Case) -> None:
    # If one log has 502s, a log of another day or host without any does not contradict them.
    has_502 = any(log.content.status_counts.get(BAD_GATEWAY) for log in evidence.access_logs)
    for log in evidence.access_logs:
        if log.content.requests >= ENOUGH_REQUESTS and not has_502:
            text, requests = f"None of {log.content.requests} requests got a 502", log.content.requests
            known = Counter(log.content.upstream_errors) + Counter(log.content.nginx_errors)
            others = sum(log.content.status_counts.get(each, 0) - known[each] for each in _INSTEAD_OF_502)
            retried = (log.content.retried_requests or 0) if case.cause is Cause.NO_PORT else 0
            if lower_limit(others, requests) >= TOUCHED_SHARE:
                case.doubts(f"{text}, but {others} got a 500 or 503: error_page may change the status.", log.name)
            elif lower_limit(log.content.hidden_502, requests) >= TOUCHED_SHARE:
                case.doubts(f"{text}, but an upstream's status was 502 in {log.content.hidden_502}.", log.name)
            elif lower_limit(retried, requests) >= TOUCHED_SHARE:
                case.doubts(f"{text}, but {retried} were passed to more than one upstream server.", log.name)
            else:
                refute(case, log, text)
