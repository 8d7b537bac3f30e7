/*
 * MediaMTX: mediamtx.yml, with names of older versions (rtsp-simple-server).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/others_rows.h"

#define NO_CAMERA \
    "weir reads no cameras; ffmpeg or rpicam-vid can publish one here"
#define NO_MOQ "weir has no Media over QUIC"
#define NO_PUBLISH_USER                                                \
    "weir lets publishers in by a stream key (publish = \"key\") and " \
    "publish_access"
#define ON_DEMAND                                                             \
    "weir pulls as long as a pull is wanted; weirctl relay and module relay " \
    "start and stop one"

const struct other_row other_rows_mediamtx[] = {
    /* ---- log, sockets ---- */
    IS_BUT("logLevel", "error_log.level",
           "\"debug\", \"info\", \"warn\" or "
           "\"error\""),
    IS_BUT("logDestinations logFile", "error_log.file",
           "a file, \"stderr\" or \"stdout\""),
    IS_BUT("logStructured", "error_log.format", "\"json\""),
    NONE("sysLogPrefix", "weir writes to no syslog; systemd takes its stderr"),
    NONE("dumpPackets", "weir has no dump; weirctl debug logs one client"),
    IS_BUT("readTimeout", APP "idle_timeout",
           "for a silent publisher; HTTP has client_body_timeout"),
    IS("writeTimeout", RTMP "send_timeout"),
    IS_BUT("writeQueueSize readBufferCount", "live.window",
           "a player that falls behind by more skips to a key frame"),
    NONE("udpMaxPayloadSize udpReadBufferSize", "weir takes nothing over UDP"),

    /* ---- programs ---- */
    NONE("runOnConnect runOnConnectRestart runOnDisconnect runOnInit "
         "runOnInitRestart runOnDemand runOnDemandRestart "
         "runOnDemandStartTimeout runOnDemandCloseAfter runOnUnDemand "
         "runOnAvailable runOnAvailableRestart runOnUnavailable runOnOnline "
         "runOnOnlineRestart runOnOffline runOnRead runOnReadRestart "
         "runOnUnread runOnReady runOnReadyRestart runOnNotReady runOnPublish "
         "runOnPublishRestart runOnUnpublish",
         NO_PROGRAMS),
    NONE("runOnRecordSegmentCreate runOnRecordSegmentComplete", NO_RECORDING),

    /* ---- who may ---- */
    IS_BUT("authMethod authMethods", LOCATION "auth.type",
           "for HTTP; publishers over RTMP have stream keys"),
    IS_BUT("authInternalUsers", LOCATION "auth",
           "for HTTP; publishers over RTMP have stream keys"),
    NONE("authInternalUsers.user authInternalUsers.action "
         "authInternalUsers.path pass permissions",
         "weir has users for HTTP alone (auth of a location, users_file)"),
    IS_BUT("ips", APP "play_access", "and publish_access, access"),
    NONE("authHTTPAddress authHTTPFingerprint authHTTPExclude "
         "externalAuthenticationURL",
         NO_CALLS),
    IS_BUT("authJWTJWKS", LOCATION "auth.jwks_file",
           "a file, of auth of type jwt; for HTTP alone"),
    IS_BUT("authJWTClaimKey", LOCATION "auth.required",
           "claims that a token must have"),
    IS("authJWTIssuer", LOCATION "auth.issuer"),
    IS("authJWTAudience", LOCATION "auth.audience"),
    IS_BUT("authJWTInHTTPQuery", LOCATION "auth.query",
           "the name of the argument"),
    NONE("authJWTJWKSFingerprint authJWTExclude",
         "weir reads keys from files, and each location says whom it asks"),
    NONE("publishUser publishPass", NO_PUBLISH_USER),
    IS_BUT("readUser readPass", LOCATION "auth", "for HTTP alone"),
    IS("publishIPs", APP "publish_access"),
    IS("readIPs", APP "play_access"),

    /* ---- control and numbers ---- */
    IS_BUT("api apiAddress", LOCATION "module",
           "modules stat (what there is) and relay (keys, relays); weirctl "
           "does the rest"),
    IS_BUT("metrics metricsAddress", LOCATION "module",
           "module status has /metrics"),
    IS_BUT("apiEncryption metricsEncryption hlsEncryption", HTTP "listen.tls",
           "a group with certificate and certificate_key"),
    IS("apiServerKey metricsServerKey hlsServerKey",
       HTTP "listen.tls.certificate_key"),
    IS("apiServerCert metricsServerCert hlsServerCert",
       HTTP "listen.tls.certificate"),
    IS("apiAllowOrigin apiAllowOrigins metricsAllowOrigin "
       "metricsAllowOrigins",
       LOCATION "cors.allow_origins"),
    IS("apiTrustedProxies metricsTrustedProxies hlsTrustedProxies "
       "trustedProxies",
       HTTP "trusted_proxies"),
    NONE("pprof*", "weir has no profiler; perf sees its processes"),
    NONE("playback*", NO_RECORDING),

    /* ---- RTMP ---- */
    IS_BUT("rtmp", "rtmp", "a group with servers; without it there is none"),
    IS("rtmpAddress", RTMP "listen"),
    IS_BUT("rtmpEncryption rtmpsAddress", RTMP "listen.tls",
           "a group at an address of listen"),
    IS("rtmpServerKey", RTMP "listen.tls.certificate_key"),
    IS("rtmpServerCert", RTMP "listen.tls.certificate"),
    IS("rtmpTrustedProxies", RTMP "trusted_proxies"),
    IS_BUT("rtmpDisable", "rtmp", "leave the group out"),

    /* ---- HLS ---- */
    IS_BUT("hls", LOCATION "module", HLS_IS_A_MODULE),
    IS("hlsAddress", HTTP "listen"),
    IS("hlsAllowOrigin hlsAllowOrigins", MODULE("hls") "allow_origin"),
    NONE(
        "hlsAlwaysRemux hlsMuxerCloseAfter",
        "weir makes segments when they are asked for, of what it keeps anyway"),
    IS_BUT("hlsVariant", MODULE("hls") "format",
           "\"fmp4\", always with low latency, or \"ts\""),
    IS_BUT("hlsSegmentCount", "live.window", LIST_IS_AS_LONG),
    IS_BUT("hlsSegmentDuration", APP "segment", SEGMENTS_END),
    IS("hlsPartDuration", APP "part"),
    IS_BUT("hlsSegmentMaxSize", "live.max_stream_memory",
           "it bounds all that is kept of a stream"),
    NONE("hlsDirectory", NO_FILES_OF_HLS),
    NONE("hlsCDNSecret", "weir has no such header; access lets a cache in"),
    IS_BUT("hlsDisable", LOCATION "module", "leave module hls out"),

    /* ---- protocols that there are not ---- */
    NONE("rtsp rtsp* rtpAddress rtcpAddress srtpAddress srtcpAddress "
         "multicast* rtpSDP protocols encryption serverKey serverCert "
         "sourceProtocol sourceAnyPortEnable",
         NO_RTSP),
    NONE("webrtc webrtc* whep*", NO_WEBRTC),
    NONE("srt srt*", NO_SRT),
    NONE("moq moq*", NO_MOQ),

    /* ---- paths ---- */
    IS_BUT("paths all_others all", "rtmp.servers.applications",
           "one application takes streams of any name"),
    IS_BUT("pathDefaults", "rtmp.servers.applications",
           "each application has its settings"),
    IS_BUT("source", APP "pull",
           "a list of { name = ...; url = \"rtmp://...\"; }; RTMP alone"),
    IS_BUT("sourceFingerprint", "relays.tls_ca",
           "the certificates that remotes are verified with"),
    NONE("sourceOnDemand sourceOnDemandStartTimeout "
         "sourceOnDemandCloseAfter",
         ON_DEMAND),
    NONE("sourceRedirect pathDefaults.fallback",
         "weir sends players to no other stream"),
    NONE("maxReaders",
         "weir has no such setting; weirctl limit stream APP/NAME players N "
         "does it for one stream"),
    NONE("useAbsoluteTimestamp", "weir has timestamps of the publisher, and "
                                 "in playlists the time of arrival"),
    IS_BUT("alwaysAvailable alwaysAvailableTracks alwaysAvailableFile",
           "live.hold",
           "players wait so long for a publisher; weir shows them no picture"),
    IS_BUT("forward", APP "push", A_LIST_OF_URLS),
    NONE("record record*", NO_RECORDING),
    IS_BUT("overridePublisher disablePublisherOverride", APP "publish_conflict",
           "\"replace\" or \"refuse\""),
    NONE("rpiCamera*", NO_CAMERA),
    END_OF_ROWS,
};
