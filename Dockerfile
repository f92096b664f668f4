# The image of Upkeep: Node, a bundle of 4 MB and GNU cp and find, for every platform of the base.
#   docker build --tag upkeep .
#   docker build --tag upkeep --build-arg BASE=node:24-slim .      on another base, with Node 20.19 or newer
ARG BASE=node:24-alpine

# The bundle is the same for every platform: it is built once, on the platform of the builder.
FROM --platform=${BUILDPLATFORM} ${BASE} AS build
WORKDIR /src
COPY package.json package-lock.json LICENSE ./
RUN npm ci --ignore-scripts
COPY scripts/ scripts/
COPY sandbox/ sandbox/
COPY src/ src/
RUN npm run build && npm run sbom && node scripts/image-tree.mjs /out

# GNU cp and find copy the data of containers: docs/data.md. They are fetched for the platform of the image, and not run.
FROM --platform=${BUILDPLATFORM} ${BASE} AS tools
ARG TARGETARCH
ARG TARGETVARIANT
COPY scripts/image-tools.sh /
RUN sh /image-tools.sh /tools

FROM ${BASE}
COPY --from=tools /tools/ /
COPY --from=build /out/ /
# No shell is needed, except for copies of data. The flags save 10 to 20 MiB for a service at rest and 30 under load (test/bench/idle.bench.ts). A
# start and a check need the same CPU time; a list of containers twice as much, 0.16 instead of 0.09 ms (test/bench/http.bench.ts).
# By flag: --no-maglev saves 20 MiB and costs that time, --optimize-for-size saves 10, --no-turbofan alone changes nothing.
# It has no compile cache, which would save a quarter of a start: V8 writes another one each time, so that no two builds would be the same.
ENTRYPOINT ["node", "--optimize-for-size", "--no-turbofan", "--no-maglev", "--v8-pool-size=1", "/app/main.js"]
CMD ["run"]
# For --state-dir=/data, which is off by default.
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=60s --timeout=15s --start-period=15s CMD ["node", "/app/main.js", "--health-check"]
ARG VERSION=0.1.0
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.title="Upkeep" \
      org.opencontainers.image.description="Keeps your containers up to date, and up: updates that never lose a container" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
