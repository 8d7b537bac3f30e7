/*
 * nginx: the core, servers and locations of HTTP, logs, TLS.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/others_rows.h"

#define KERNEL_CHOOSES \
    "weir uses epoll, and one socket a worker at each address"
#define NO_TUNING "weir has no such setting, and needs none"
#define NO_VARIABLES_OF_YOURS \
    "weir has no variables of your own; locations and rewrite choose by path"
#define NO_MOBILE "weir does not look at the browser"
#define NO_EDITING "weir does not change the text of answers"

const struct other_row other_rows_nginx[] = {
    /* ---- the whole server ---- */
    IS("worker_processes", "worker_processes"),
    IS("worker_connections", "worker_connections"),
    IS("worker_rlimit_nofile", "worker_rlimit_nofile"),
    IS_BUT("user", "user", "a group is a setting of its own"),
    IS("pid", "pid"),
    IS_BUT("daemon", "daemon", "true or false"),
    IS_BUT("error_log", "error_log",
           "a group, at the root: { file = ...; level = ...; }"),
    IS("worker_shutdown_timeout", "reload_drain"),
    NONE("events", "weir has no events; worker_connections is at the root"),
    NONE("use multi_accept accept_mutex accept_mutex_delay epoll_events "
         "worker_aio_requests devpoll_* eventport_events iocp_threads "
         "kqueue_* post_acceptex acceptex_read",
         KERNEL_CHOOSES),
    NONE("debug_connection", "weirctl debug client ADDRESS does that"),
    NONE("master_process timer_resolution lock_file debug_points "
         "worker_priority worker_cpu_affinity worker_rlimit_core pcre_jit "
         "thread_pool ssl_engine quic_bpf ssl_object_cache_inheritable",
         NO_TUNING),
    NONE("working_directory", "weir's relative paths stand on weir -p PREFIX"),
    NONE("env", "weir takes variables where they are meant: ${env:NAME}"),
    NONE("load_module", "weir's modules are linked in: ./configure"),
    NONE("include", "weir takes files in by @include \"FILE\""),
    NONE("mail google_perftools_profiles", "weir has no such thing"),
    NONE("stream", "weir passes on HTTP alone (module proxy)"),

    /* ---- servers ---- */
    IS("http", "http"),
    IS_BUT("server", "http.servers", "of an upstream: upstreams.servers"),
    IS_BUT("listen", HTTP "listen",
           "its options stand in a group with it: { address = ...; tls = ...; "
           "}"),
    IS_BUT("server_name", HTTP "server_name", "a list of texts"),
    IS_BUT("location", "http.servers.locations",
           "a group with its path: { path = \"/x\"; module = ...; }"),
    IS("client_header_timeout", HTTP "client_header_timeout"),
    IS("client_body_timeout", HTTP "client_body_timeout"),
    IS("client_max_body_size", HTTP "client_max_body_size"),
    IS("send_timeout", HTTP "send_timeout"),
    IS("keepalive_timeout", HTTP "keepalive_timeout"),
    IS("keepalive_requests", HTTP "keepalive_requests"),
    IS("keepalive_time", HTTP "keepalive_time"),
    IS_BUT("keepalive_min_timeout", "keepalive_min_timeout", "at the root"),
    IS_BUT("client_header_buffer_size large_client_header_buffers",
           HTTP "client_max_head_size",
           "and client_max_uri_size, client_max_header_size"),
    IS("max_headers", HTTP "client_max_headers"),
    IS_BUT("lingering_close lingering_time", HTTP "lingering_time", "0: none"),
    IS("lingering_timeout", HTTP "lingering_timeout"),
    NONE("connection_pool_size request_pool_size variables_hash_max_size "
         "variables_hash_bucket_size types_hash_max_size "
         "types_hash_bucket_size client_body_buffer_size "
         "client_body_temp_path client_body_in_file_only "
         "client_body_in_single_buffer client_body_early_read sendfile "
         "sendfile_max_chunk subrequest_output_buffer_size aio aio_write "
         "read_ahead directio directio_alignment send_lowat postpone_output "
         "output_buffers reset_timedout_connection keepalive_disable "
         "msie_padding msie_refresh chunked_transfer_encoding early_hints "
         "recursive_error_pages map_hash_max_size map_hash_bucket_size "
         "server_names_hash_* merge_slashes ignore_invalid_headers "
         "underscores_in_headers",
         NO_TUNING),
    NONE("tcp_nopush tcp_nodelay", NO_NEED_OF_FLUSH),
    NONE("resolver resolver_timeout",
         "weir asks the name servers of the system (/etc/resolv.conf)"),
    NONE("absolute_redirect server_name_in_redirect port_in_redirect",
         "weir sends clients where return and rewrite say"),
    NONE("server_tokens", "weir's answers do not name its version"),
    NONE("http2 http2_* http3 http3_* quic_*",
         "weir speaks HTTP/1.1; a balancer before it can speak HTTP/2"),

    /* ---- locations ---- */
    IS_BUT("root", MODULE("static") "root",
           "module static takes the path below the location from it"),
    IS_BUT("alias", MODULE("static") "root",
           "alias of module static names one file below root"),
    IS("index", MODULE("static") "index"),
    IS("autoindex", MODULE("static") "autoindex"),
    NONE("autoindex_format autoindex_localtime autoindex_exact_size",
         "weir lists directories in one form"),
    IS_BUT("try_files", MODULE("static") "fallback",
           "the file that answers where there is none; layers try several "
           "modules"),
    IS("expires", MODULE("static") "expires"),
    IS("default_type", MODULE("static") "default_type"),
    IS_BUT("types", MODULE("static") "types",
           "or types_file, in the form of nginx's mime.types"),
    IS("charset", MODULE("static") "charset"),
    NONE("source_charset override_charset charset_types charset_map",
         "weir changes no charset"),
    IS("gzip_static", MODULE("static") "gzip_static"),
    IS_BUT("open_file_cache", MODULE("static") "cache_files",
           "and cache_memory, cache_open, cache_valid"),
    IS("open_file_cache_valid", MODULE("static") "cache_valid"),
    NONE("open_file_cache_min_uses open_file_cache_errors "
         "open_file_cache_events open_log_file_cache etag if_modified_since "
         "max_ranges disable_symlinks random_index empty_gif log_not_found "
         "log_subrequest",
         NO_TUNING),
    IS_BUT("add_header", LOCATION "add_headers",
           "a list of { name = ...; value = ...; always = ...; }"),
    NONE("add_trailer add_header_inherit add_trailer_inherit",
         "weir adds headers alone: those of a server and of its location"),
    IS_BUT("return", LOCATION "return", "{ status = ...; to = ...; }"),
    IS_BUT("rewrite", LOCATION "rewrite",
           "{ pattern = ...; to = ...; then = ...; }"),
    NONE("break if set rewrite_log uninitialized_variable_warn map geo "
         "geoip_* split_clients perl*",
         NO_VARIABLES_OF_YOURS),
    NONE("error_page post_action", "weir's refusals have texts of its own"),
    NONE("internal mirror mirror_request_body slice satisfy limit_except "
         "dav_methods create_full_put_path min_delete_depth dav_access "
         "degradation degrade auth_delay image_filter* xslt_* "
         "xml_* userid* secure_link* flv mp4 mp4_*",
         "weir has no such thing"),
    IS_BUT("stub_status", LOCATION "module", "module status has /metrics"),
    NONE("modern_browser* ancient_browser*", NO_MOBILE),
    NONE("add_before_body add_after_body addition_types sub_filter* ssi ssi_* "
         "gunzip*",
         NO_EDITING),

    /* ---- who may, how often ---- */
    IS_BUT("allow deny", LOCATION "access",
           "a list: [ \"allow 10.0.0.0/8\", \"deny all\" ]"),
    IS_BUT("auth_basic", LOCATION "auth",
           "{ type = \"basic\"; realm = ...; users_file = ...; }"),
    IS("auth_basic_user_file", LOCATION "auth.users_file"),
    NONE("auth_request auth_request_set auth_oidc",
         "weir asks no server whom to let in; auth has tokens, users and jwt"),
    IS_BUT("auth_jwt", LOCATION "auth", "{ type = \"jwt\"; ... }"),
    IS_BUT("limit_req limit_req_zone", LOCATION "rate",
           "{ key = ...; rate = \"10/s\"; burst = ...; }"),
    NONE("limit_req_log_level limit_req_status limit_req_dry_run",
         "weir answers 429 with Retry-After"),
    IS_BUT("limit_conn limit_conn_zone", "limits.connections_per_address",
           "over all workers"),
    NONE("limit_conn_log_level limit_conn_status limit_conn_dry_run",
         "weir closes such a connection before it is read"),
    NONE("limit_rate limit_rate_after", "weir does not slow clients down"),
    IS_BUT("set_real_ip_from", HTTP "trusted_proxies", "a list"),
    IS("real_ip_header", HTTP "forwarded_header"),
    NONE("real_ip_recursive", "weir passes over all trusted proxies itself"),
    NONE("valid_referers referer_hash_*", "weir has no rule for Referer"),

    /* ---- logs, gzip ---- */
    IS("access_log", HTTP "access_log"),
    IS_BUT("log_format", HTTP "access_log_format",
           "the format itself, not its name"),
    IS_BUT("gzip", HTTP "gzip", "true or false"),
    IS("gzip_types", HTTP "gzip_types"),
    IS("gzip_comp_level", HTTP "gzip_level"),
    IS("gzip_min_length", HTTP "gzip_min_length"),
    NONE("gzip_buffers gzip_window gzip_hash postpone_gzipping gzip_no_buffer "
         "gzip_vary gzip_http_version gzip_proxied gzip_disable",
         NO_TUNING),

    /* ---- TLS ---- */
    IS_BUT("ssl", HTTP "listen.tls", "a group at an address of listen"),
    IS("ssl_certificate", HTTP "listen.tls.certificate"),
    IS("ssl_certificate_key", HTTP "listen.tls.certificate_key"),
    IS_BUT("ssl_protocols", HTTP "listen.tls.min_version",
           "and max_version: \"1.2\", \"1.3\""),
    IS_BUT("ssl_ciphers ssl_conf_command", HTTP "listen.tls.ciphers",
           "for TLS 1.3 ciphersuites"),
    IS("ssl_ecdh_curve", HTTP "listen.tls.groups"),
    IS_BUT("ssl_client_certificate ssl_trusted_certificate",
           HTTP "listen.tls.client_ca",
           "it demands a certificate unless client_verify says another"),
    IS_BUT("ssl_verify_client", HTTP "listen.tls.client_verify",
           "\"on\", \"optional\" or \"optional_no_ca\""),
    IS("ssl_verify_depth", HTTP "listen.tls.client_depth"),
    IS("ssl_crl", HTTP "listen.tls.client_crl"),
    IS("ssl_session_tickets", HTTP "listen.tls.session_tickets"),
    IS("ssl_session_timeout", HTTP "listen.tls.session_timeout"),
    NONE("ssl_session_cache ssl_session_ticket_key",
         "weir has tickets, whose keys it makes and changes itself"),
    NONE("ssl_password_file", "weir takes keys without a passphrase"),
    NONE("ssl_dhparam ssl_prefer_server_ciphers ssl_buffer_size "
         "ssl_ocsp* ssl_stapling* ssl_early_data "
         "ssl_reject_handshake ssl_ech_file ssl_certificate_cache "
         "ssl_certificate_compression",
         NO_TUNING),
    END_OF_ROWS,
};
