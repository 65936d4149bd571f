# An image of the program alone: no shell, no libraries, no user but an unnamed one.
# The binary is one that was built static (CGO_ENABLED=0), as .ci/release does:
#
#   tar xzf dist/shardsh_*_linux_amd64.tar.gz --strip-components=1
#   docker build -t shardsh .
#   docker run --rm -p 27017:27017 shardsh serve --bind 0.0.0.0 --auth root:/run/secrets/password
#
# There are no certificates of authorities in it: give them with --tlsCAFile, or mount
# /etc/ssl/certs.
FROM scratch
COPY shardsh /shardsh
USER 65532:65532
EXPOSE 27017
ENTRYPOINT ["/shardsh"]
