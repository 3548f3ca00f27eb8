# The audio relay of the SIP server of a hub. See docs/guides/run-a-sip-server.md.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends rtpengine-daemon \
 && rm -rf /var/lib/apt/lists/*
COPY rtpengine.conf /etc/rtpengine/rtpengine.conf
USER nobody
STOPSIGNAL SIGTERM
ENTRYPOINT ["rtpengine", "--config-file=/etc/rtpengine/rtpengine.conf"]
