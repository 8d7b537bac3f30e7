/*
 * nginx-rtmp: the RTMP module of nginx, and nginx-http-flv-module, its fork.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/others_rows.h"

const struct other_row other_rows_rtmp[] = {
    /* ---- blocks and listeners ---- */
    IS("rtmp", "rtmp"),
    IS_BUT("server", "rtmp.servers", "one group in braces is one server"),
    IS_BUT("listen", RTMP "listen", "its options stand in a group with it"),
    IS_BUT("application", "rtmp.servers.applications",
           "a group with its name: { name = \"live\"; ... }"),
    IS_BUT("server_name", "rtmp.servers.applications",
           "RTMP servers differ by where they listen, streams by application"),
    IS("so_keepalive", RTMP "listen.so_keepalive"),
    IS_BUT("timeout", RTMP "send_timeout",
           "for a silent publisher applications have idle_timeout"),
    IS("send_timeout", RTMP "send_timeout"),
    IS("ping", RTMP "ping_interval"),
    IS("ping_timeout", RTMP "ping_timeout"),
    IS("ack_window", RTMP "window_ack"),
    IS("chunk_size", RTMP "chunk_size"),
    IS("max_message", RTMP "max_message"),
    IS_BUT("max_streams", "live.max_streams",
           "it counts streams of weir, not those of a connection"),
    IS_BUT("max_connections", "worker_connections",
           "it counts connections of a worker; one address may have "
           "limits.connections_per_address"),
    IS_BUT("out_queue", "live.window",
           "a player that falls behind by more skips to a key frame"),
    NONE("out_cork send_lowat tcp_nopush tcp_nodelay", NO_NEED_OF_FLUSH),
    NONE("busy buflen connection_pool_size merge_slashes",
         "weir has no such setting, and needs none"),
    NONE("play_time_fix publish_time_fix",
         "weir keeps timestamps, and lets them go on when a publisher comes "
         "back"),
    NONE("resolver resolver_timeout notify_no_resolve",
         "weir asks the name servers of the system (/etc/resolv.conf)"),

    /* ---- live streams ---- */
    IS_BUT("live", "rtmp.servers.applications",
           "every application is live: leave it out"),
    IS_BUT("buffer", "live.gather", "how long frames wait to be sent together"),
    IS_BUT("gop_cache", APP "gop_cache",
           "players begin at a key frame that is there already"),
    NONE("gop_max_frame_count gop_max_video_count gop_max_audio_count",
         "weir bounds what it keeps of a stream by live.max_stream_memory"),
    NONE("sync interleave",
         "weir sends frames in the order in which they came"),
    NONE("wait_key wait_video", "weir begins at a key frame for every player"),
    NONE("publish_notify play_restart idle_streams",
         "weir lets players wait for a publisher, and tells them; live.hold "
         "says how long they stay when it has gone"),
    IS("drop_idle_publisher", APP "idle_timeout"),
    NONE("stream_buckets", "weir has no such table; live.max_streams is the "
                           "most streams"),
    NONE("meta", "weir passes metadata on as they came"),
    IS_BUT("allow deny", APP "publish_access",
           "and play_access: [ \"allow 10.0.0.0/8\", \"deny all\" ]"),

    /* ---- logs ---- */
    IS("access_log", RTMP "access_log"),
    IS_BUT("log_format", RTMP "access_log_format",
           "the format itself, not its name"),
    NONE("log_interval log_size", "weir writes a line when a session ends"),

    /* ---- relays ---- */
    IS_BUT("push", APP "push",
           "a list of URLs with rtmp:// before them; without a name in it each "
           "stream keeps its own"),
    IS_BUT("pull", APP "pull",
           "a list of { name = ...; url = ...; }, which begin at once, with "
           "or without players"),
    NONE("push_reconnect pull_reconnect",
         "weir tries relays again after 1 s, then up to every 30 s"),
    NONE("relay_buffer session_relay",
         "weir has no such setting; streams are on every worker"),
    NONE("rtmp_auto_push rtmp_auto_push_reconnect rtmp_socket_dir",
         "weir needs none: players on every worker get every stream"),

    /* ---- calls and programs ---- */
    NONE("on_connect on_disconnect on_publish on_play on_publish_done "
         "on_play_done on_done on_update",
         NO_CALLS),
    NONE("notify_method notify_update_timeout notify_update_strict "
         "notify_relay_redirect netcall_timeout netcall_buffer",
         NO_CALLS),
    NONE("exec exec_block exec_push exec_pull exec_publish exec_publish_done "
         "exec_play exec_play_done exec_record_done exec_static exec_options "
         "exec_kill_signal respawn respawn_timeout",
         NO_PROGRAMS),

    /* ---- files ---- */
    NONE("record recorder record_path record_suffix record_unique "
         "record_append record_lock record_max_size record_max_frames "
         "record_interval record_notify on_record_done",
         NO_RECORDING),
    NONE("play play_temp_path play_local_path", NO_VOD),

    /* ---- HLS, DASH, FLV ---- */
    IS_BUT("hls", LOCATION "module", HLS_IS_A_MODULE),
    IS_BUT("hls_fragment", APP "segment", SEGMENTS_END),
    IS("hls_max_fragment", APP "max_segment"),
    IS_BUT("hls_playlist_length", "live.window", LIST_IS_AS_LONG),
    IS_BUT("hls_variant", APP "ladder",
           "the endings of names, the best first: ( \"_720\", \"_360\" )"),
    IS_BUT("hls_fragment_slicing", APP "segment",
           "segments end before key frames"),
    NONE("hls_path hls_nested hls_cleanup hls_fragment_naming "
         "hls_fragment_naming_granularity hls_dir_access "
         "hls_nested_index_filename",
         NO_FILES_OF_HLS),
    NONE("hls_base_url", "weir writes relative addresses into playlists"),
    NONE("hls_type", "weir has live playlists alone"),
    NONE("hls_continuous", "weir goes on with numbers and times of a stream "
                           "whose publisher comes back within live.hold"),
    NONE("hls_sync hls_muxdelay hls_max_audio_delay hls_audio_buffer_size",
         "weir cuts by timestamps and needs no such setting"),
    NONE("hls_keys hls_key_path hls_key_url hls_fragments_per_key",
         NO_ENCRYPTION),
    NONE("dash dash_fragment dash_path dash_playlist_length dash_cleanup "
         "dash_nested",
         NO_DASH),
    IS_BUT("flv_live", LOCATION "module",
           "{ module = \"flv\"; } among the layers of a location serves FLV"),

    /* ---- pages ---- */
    IS_BUT("rtmp_stat", LOCATION "module",
           "{ path = \"/stat\"; module = \"stat\"; } serves statistics as "
           "JSON, below /stat/livestat and others"),
    NONE("rtmp_stat_stylesheet rtmp_stat_format",
         "weir has statistics as JSON; its console shows them as a page"),
    IS_BUT("rtmp_control", LOCATION "module",
           "module relay has stream keys and relays; weirctl kick sends "
           "sessions away"),
    END_OF_ROWS,
};
