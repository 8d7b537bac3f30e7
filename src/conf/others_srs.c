/*
 * SRS: full.conf, with names of older versions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/others_rows.h"

#define NO_LIMIT_OF_LOAD \
    "weir has no such switch; worker_connections and live.memory bound it"
#define NO_INGEST                                                         \
    "weir starts no programs; ffmpeg can publish files here, pull takes " \
    "streams of other servers"
#define NO_CASTER \
    "weir takes RTMP alone; ffmpeg can take other protocols and publish here"
#define NO_REPORTS \
    "weir reports to no server; /metrics of module status can be asked"
#define NO_LATER_FIX \
    "weir keeps timestamps, and lets them go on when a publisher comes back"
#define VHOSTS \
    "weir has no virtual hosts for RTMP; an application has what a vhost says"
#define ORIGIN                                                           \
    "a list of { name = ...; url = \"rtmp://ORIGIN/APP/NAME\"; }, each " \
    "pulled at once and kept"

const struct other_row other_rows_srs[] = {
    /* ---- the whole server ---- */
    IS_BUT("listen", RTMP "listen",
           "several are a list; \"ADDRESS:PORT\" or \"PORT\" in quotes"),
    IS("pid", "pid"),
    IS("daemon", "daemon"),
    IS("chunk_size", RTMP "chunk_size"),
    IS_BUT("max_connections", "worker_connections",
           "it counts connections of a worker; one address may have "
           "limits.connections_per_address"),
    IS_BUT("srs_log_tank srs_log_file", "error_log.file",
           "a file, \"stderr\" or \"stdout\""),
    IS_BUT("srs_log_level srs_log_level_v2", "error_log.level",
           "\"debug\", \"info\", \"notice\", \"warn\" or \"error\""),
    NONE("ff_log_dir ff_log_level", NO_TRANSCODING),
    IS_BUT("server_id", "store.node",
           "a name among several weirs on one database"),
    NONE("utc_time", "weir logs UTC"),
    NONE("pithy_print_ms query_latest_version first_wait_for_qlv threads "
         "threads.interval tcmalloc_release_rate auto_reload_for_docker "
         "disable_daemon_for_docker in_docker empty_ip_ok asprocess is_full",
         "weir has no such setting, and needs none"),
    NONE("work_dir", "weir's relative paths stand on weir -p PREFIX"),
    NONE("inotify_auto_reload", "weir reloads when it is told: weirctl reload"),
    IS_BUT("grace_start_wait", "stop_grace", "with a unit: \"2300ms\""),
    IS_BUT("grace_final_wait", "stop_drain", "with a unit: \"3200ms\""),
    NONE("force_grace_quit", "weir stops gracefully at QUIT: weir -s quit"),
    NONE("include", "weir takes files in by @include \"FILE\""),
    NONE("enabled enable",
         "weir does what stands in its file; leave out the group or module "
         "that is to be off"),

    /* ---- HTTP ---- */
    IS_BUT("http_api", LOCATION "module",
           "modules stat (what there is) and relay (keys, relays)"),
    NONE("raw_api allow_reload allow_query allow_update",
         "weir is managed by weirctl, over a socket of its own"),
    IS_BUT("username password", LOCATION "auth.users_file",
           "auth of type basic, for HTTP"),
    IS_BUT("http_auth.enabled auth", LOCATION "auth", "of a location"),
    IS_BUT("http_server http_stream", "http.servers",
           "a list of servers, each with listen and locations"),
    IS_BUT("dir", MODULE("static") "root", "of module static"),
    IS_BUT("crossdomain", LOCATION "cors",
           "flv and hls have allow_origin, \"*\" as shipped"),
    IS_BUT("https", HTTP "listen.tls", "a group at an address of listen"),
    IS("https.key", HTTP "listen.tls.certificate_key"),
    IS("cert", HTTP "listen.tls.certificate"),
    IS_BUT("http_static", LOCATION "module",
           "{ module = \"static\"; root = ...; }"),
    IS_BUT("http_remux", LOCATION "module",
           "{ module = \"flv\"; } serves every stream at /APP/NAME.flv"),
    IS_BUT("mount", LOCATION "path",
           "streams are at /APP/NAME.flv and .m3u8 below it"),
    NONE("fast_cache drop_if_not_match has_audio has_video guess_has_av",
         "weir sends FLV as the stream is, from the newest key frame"),
    IS_BUT("rtmps", RTMP "listen.tls", "a group at an address of listen"),

    /* ---- vhosts, clusters ---- */
    IS_BUT("vhost", "rtmp.servers.applications", VHOSTS),
    IS_BUT("cluster mode origin", APP "pull", ORIGIN),
    NONE("token_traverse follow_client debug_srs_upnode debug",
         "weir sends no words of clients on to an origin"),
    NONE("origin_cluster coworkers cluster.protocol",
         "weir sends players to no other node; pull and push copy streams"),
    IS_BUT("forward", APP "push", A_LIST_OF_URLS),
    IS_BUT("destination", APP "push", A_LIST_OF_URLS),
    NONE("forward.backend",
         "weir asks no server; module relay starts and stops pushes"),

    /* ---- playing, publishing ---- */
    IS_BUT("play", APP "play_access",
           "settings of players stand in the application"),
    IS_BUT("publish", APP "publish",
           "settings of publishers stand in the application"),
    IS_BUT("gop_cache", APP "gop_cache",
           "players begin at a key frame that is there already"),
    IS_BUT("gop_cache_max_frames", "live.max_stream_memory",
           "bytes that are kept of a stream"),
    IS_BUT("queue_length", "live.window",
           "with a unit; a player that falls behind by more skips"),
    NONE("time_jitter atc atc_auto mix_correct", NO_LATER_FIX),
    IS_BUT("mw_latency mw_msgs send_min_interval", APP "gather",
           "how long frames wait to be sent together, with a unit"),
    IS_BUT("mr mr_latency", APP "gather",
           "weir reads what has come, and waits before it sends alone"),
    IS_BUT("min_latency", APP "gather", "\"0\" waits for nothing"),
    NONE("reduce_sequence_header parse_sps try_annexb_first",
         "weir passes codec headers on as they came"),
    NONE("tcp_nodelay", NO_NEED_OF_FLUSH),
    IS_BUT("in_ack_size out_ack_size", RTMP "window_ack", "in bytes"),
    IS_BUT("firstpkt_timeout publish_1stpkt_timeout", RTMP "connect_timeout",
           "with a unit"),
    IS_BUT("normal_timeout publish_normal_timeout", APP "idle_timeout",
           "with a unit"),
    NONE("kickoff_for_idle", "weir keeps a publisher that has no players"),
    IS_BUT("security", APP "publish_access",
           "and play_access: [ \"allow 10.0.0.0/8\", \"deny all\" ]"),
    IS_BUT("allow deny", APP "publish_access",
           "and play_access: [ \"allow 10.0.0.0/8\", \"deny all\" ]"),
    NONE("refer refer.all refer.publish refer_publish refer_play",
         "weir looks at no page of an RTMP player; cors and auth bind HTTP"),
    NONE("bandcheck",
         "weir measures no clients; weirctl show sess shows their speed"),

    /* ---- calls, programs ---- */
    NONE("http_hooks on_connect on_close on_publish on_unpublish on_play "
         "on_stop on_dvr on_hls on_hls_notify",
         NO_CALLS),
    NONE("exec exec.publish", NO_PROGRAMS),
    NONE("dvr dvr_apply dvr_plan dvr_path dvr_duration dvr_wait_keyframe",
         NO_RECORDING),
    NONE("ingest input ingest.type ingest.url", NO_INGEST),
    NONE("transcode ffmpeg transcode.engine ingest.engine perfile iformat "
         "oformat vfilter vcodec "
         "vbitrate vfps vwidth vheight vthreads vprofile vpreset vparams "
         "acodec abitrate asample_rate achannels aparams output",
         NO_TRANSCODING),
    NONE("re rtsp_transport filter_complex vf coder b_strategy bf refs "
         "perfile.* vfilter.* vparams.* aparams.* engine.*",
         NO_TRANSCODING),

    /* ---- HLS, DASH, HDS ---- */
    IS_BUT("hls", LOCATION "module", HLS_IS_A_MODULE),
    IS_BUT("hls_fragment", APP "segment", SEGMENTS_END),
    IS_BUT("hls_td_ratio hls_aof_ratio", APP "max_segment",
           "how long a segment is at most"),
    IS_BUT("hls_window", "live.window", LIST_IS_AS_LONG),
    IS_BUT("hls_wait_keyframe", APP "strict_keys",
           "true: every segment begins with a key frame"),
    NONE("hls_path hls_m3u8_file hls_ts_file hls_ts_floor hls_cleanup "
         "hls_dispose hls_storage hls_mount",
         NO_FILES_OF_HLS),
    NONE("hls_entry_prefix", "weir writes relative addresses into playlists"),
    NONE("hls_acodec hls_vcodec",
         "weir sees what the stream has; nothing has to be told"),
    NONE("hls_on_error hls_dts_directly hls_nb_notify hls_master_m3u8_path_"
         "relative",
         "weir has no such setting, and needs none"),
    IS_BUT("hls_use_fmp4", MODULE("hls") "format", "\"fmp4\" or \"ts\""),
    NONE("hls_fmp4_file hls_init_file", NO_FILES_OF_HLS),
    NONE("hls_ctx hls_ts_ctx",
         "weir gives viewers an id of itself; weirctl show sess lists them"),
    NONE("hls_keys hls_fragments_per_key hls_key_file hls_key_file_path "
         "hls_key_url",
         NO_ENCRYPTION),
    NONE("dash dash_fragment dash_update_period dash_timeshift dash_path "
         "dash_mpd_file dash_init_mp4 dash_window_size dash_cleanup "
         "dash_dispose",
         NO_DASH),
    NONE("hds hds_fragment hds_window hds_path", "weir has no HDS, but HLS"),

    /* ---- other protocols ---- */
    NONE("srt_server srt srt_server.connect_timeout srt_to_rtmp maxbw mss "
         "peer_idle_timeout default_app "
         "peerlatency recvlatency latency tsbpdmode tlpktdrop sendbuf recvbuf "
         "passphrase pbkeylen payloadsize",
         NO_SRT),
    NONE("rtc_server rtc candidate use_auto_detect_network_ip ip_family "
         "api_as_candidates resolve_api_domain keep_api_domain ecdsa encrypt "
         "reuseport merge_nalus black_hole black_hole.addr addr tcp "
         "protocol nack nack_no_copy twcc stun_timeout stun_strict_check "
         "dtls_role dtls_version drop_for_pt rtmp_to_rtc keep_bframe "
         "keep_avc_nalu_sei opus_bitrate rtc_to_rtmp pli_for_rtmp "
         "aac_bitrate perf_stat bframe aac",
         NO_WEBRTC),
    NONE("rtsp_server rtsp rtmp_to_rtsp", NO_RTSP),
    NONE("stream_caster caster sip reinvite sip.timeout rtp_port_min "
         "rtp_port_max audio_enable wait_keyframe rtp_idle_timeout "
         "auto_create_channel invite_port_fixed query_catalog_interval serial "
         "ack_timeout print_sip_message",
         NO_CASTER),

    /* ---- watching ---- */
    IS_BUT("exporter", LOCATION "module", "module status has /metrics"),
    NONE("exporter.label exporter.tag label tag",
         "weir's metrics have no labels of yours; Prometheus can add them"),
    NONE("heartbeat heartbeat.interval heartbeat.url device_id summaries "
         "ports",
         NO_REPORTS),
    NONE("tencentcloud_cls tencentcloud_apm tencentcloud_cls.* "
         "tencentcloud_apm.* secret_id secret_key endpoint topic_id "
         "debug_logging stat_heartbeat heartbeat_ratio stat_streams "
         "streams_ratio team service_name token",
         NO_REPORTS),
    NONE("stats network disk",
         "weir reads its own numbers; an exporter of the host has the others"),
    NONE("circuit_breaker high_threshold high_pulse critical_threshold "
         "critical_pulse dying_threshold dying_pulse",
         NO_LIMIT_OF_LOAD),
    END_OF_ROWS,
};
