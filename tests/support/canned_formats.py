"""Log lines in two usual formats, and a configuration with formats and logs of its own."""

from textwrap import dedent

COMMON_LINE = '10.0.0.1 - - [31/May/2023:08:27:49 +0000] "GET / HTTP/1.1" 200 12'
COMBINED_LINE = f'{COMMON_LINE} "-" "curl"'
CONFIGURATION = dedent(
    r"""
    # log_format commented 'out $status';
    user nginx; include modules/*.conf;
    http {
        log_format  main  '$remote_addr "$request" ' # the request
                          "$status \"$pid\" $host"
                          '_$connection' ;
        log_format objects escape=json '{"status":"$status",' "\"uri\":\"${request_uri}\"}\n";
        map $status ${name}s { ~^[23] 0; log_format 'no "format"'; default 1; access_log x; }
        access_log /var/log/all.log main buffer=32k if=$loggable;
        types { text/html html; include html; }
        server {
            location ~ "^/a{2}$" { return 200 "a;{}#'"; }
            location / {
                content_by_lua_block { local s = "don't } {"; ngx.say('it"s') -- }
                  local t = [=[ ]] } ]=]; if s then t = {} end }
                access_log off;
            }
            if ($slow) { access_log logs/slow.log; }
            access_log syslog:server=unix:/dev/log,tag=a objects;
        }
    }
    """
)
