/*
 * nginx: servers behind it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/others_rows.h"

#define PROXY MODULE("proxy")
#define NO_CACHE \
    "weir keeps no answers of servers behind it; a cache before it can"
#define NO_CHANGE "weir passes on method and body as they came"
#define HTTP_ALONE "weir passes on HTTP/1.1 alone (module proxy)"
#define PIECEWISE                                                         \
    "weir passes bodies on piece by piece, of requests and answers, and " \
    "writes no files"

const struct other_row other_rows_nginx_http[] = {
    IS_BUT("proxy_pass", PROXY "upstream",
           "the name of a group of upstreams; uri stands for the path"),
    IS_BUT("proxy_redirect", PROXY "redirects", "a list of texts"),
    IS_BUT("proxy_cookie_domain proxy_cookie_path proxy_cookie_flags",
           PROXY "cookies", "\"path FROM TO\" and others"),
    IS_BUT("proxy_set_header", PROXY "set_headers",
           "\"Name: value\", with the same variables; host has a setting of "
           "its own"),
    IS("proxy_hide_header", PROXY "hide_headers"),
    IS("proxy_connect_timeout", PROXY "connect_timeout"),
    IS("proxy_send_timeout", PROXY "send_timeout"),
    IS("proxy_read_timeout", PROXY "read_timeout"),
    IS("proxy_next_upstream proxy_next_upstream_tries", PROXY "tries"),
    IS("proxy_next_upstream_timeout", PROXY "retry_time"),
    IS("proxy_buffer_size proxy_buffers proxy_busy_buffers_size",
       PROXY "buffer"),
    IS_BUT("proxy_ignore_client_abort", PROXY "on_client_close",
           "\"abort\" or \"go on\""),
    IS_BUT("proxy_intercept_errors", PROXY "pass_on",
           "statuses with which the next layer is asked"),
    NONE("proxy_buffering proxy_request_buffering proxy_temp_path "
         "proxy_max_temp_file_size proxy_temp_file_write_size proxy_store "
         "proxy_store_access",
         PIECEWISE),
    NONE("proxy_cache proxy_cache_* proxy_no_cache", NO_CACHE),
    NONE("proxy_method proxy_set_body proxy_pass_request_headers "
         "proxy_pass_request_body proxy_pass_trailers proxy_pass_header "
         "proxy_ignore_headers",
         NO_CHANGE),
    NONE("proxy_http_version", HTTP_ALONE),
    NONE("proxy_bind proxy_socket_keepalive proxy_socket_rcvbuf "
         "proxy_socket_sndbuf proxy_send_lowat proxy_force_ranges "
         "proxy_limit_rate proxy_headers_hash_*",
         "weir has no such setting, and needs none"),
    IS_BUT("proxy_ssl_trusted_certificate", UPSTREAM "tls.ca", "a file"),
    IS("proxy_ssl_name proxy_ssl_server_name", UPSTREAM "tls.server_name"),
    IS_BUT("proxy_ssl_verify", UPSTREAM "tls.insecure",
           "weir verifies unless insecure = true"),
    IS("proxy_ssl_certificate", UPSTREAM "tls.certificate"),
    IS("proxy_ssl_certificate_key", UPSTREAM "tls.certificate_key"),
    IS_BUT("proxy_ssl_*", UPSTREAM "tls",
           "ca, server_name, insecure, certificate"),

    IS_BUT("upstream", "upstreams", "a list at the root, each with its name"),
    IS("keepalive", UPSTREAM "keepalive"),
    IS_BUT("hash ip_hash least_conn least_time random sticky",
           UPSTREAM "balance",
           "\"round_robin\", \"least_connections\" or \"hash\""),
    NONE("zone",
         "weir's workers share what they know of servers by themselves"),
    NONE("fastcgi_* uwsgi_* scgi_* grpc_* memcached_* tunnel_*", HTTP_ALONE),
    END_OF_ROWS,
};
