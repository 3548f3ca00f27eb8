# Audio of the SIP server of a hub: docs/guides/run-a-sip-server.md says what it needs.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends rtpengine-daemon \
 && rm -rf /var/lib/apt/lists/*
COPY rtpengine.conf /etc/rtpengine/rtpengine.conf
USER nobody
STOPSIGNAL SIGTERM
ENTRYPOINT ["rtpengine", "--config-file=/etc/rtpengine/rtpengine.conf"]
