package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// user is the user of the images: it has no name and owns nothing.
const user = "65532:65532"

// writeImage writes an OCI layout with an image for each program, and checks it. The same programs give
// the same digests.
func writeImage(dir string, binaries map[string]string, version string, created time.Time) error {
	if len(binaries) == 0 {
		return errors.New("--binary is required")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range slices.Sorted(maps.Keys(binaries)) {
		image, err := imageOf(binaries[platform], platform, version, created)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		of, err := v1.ParsePlatform(platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: of}})
	}
	annotated, ok := mutate.Annotations(index, labels(version, created)).(v1.ImageIndex)
	if !ok {
		return errors.New("an index with annotations is not an index")
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})
	if err := path.AppendIndex(annotated, named); err != nil {
		return err
	}
	return verifyLayout(dir)
}

// verifyLayout reads a layout, and verifies all digests and sizes.
func verifyLayout(dir string) error {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	return validate.Index(index)
}

func labels(version string, created time.Time) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "shardsh",
		"org.opencontainers.image.description": "shell for sharded MongoDB clusters, with a mock cluster inside",
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.created":     created.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
}

// imageOf returns the image of a program: its file alone, as in the Dockerfile.
func imageOf(file, platform, version string, created time.Time) (v1.Image, error) {
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content, err := archiveOf(program, created)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "COPY shardsh /shardsh"},
	})
	if err != nil {
		return nil, err
	}
	made, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := made.DeepCopy()
	config.OS, config.Architecture, _ = strings.Cut(platform, "/")
	config.Created = v1.Time{Time: created}
	config.Config = v1.Config{
		User: user, Entrypoint: []string{"/shardsh"}, ExposedPorts: map[string]struct{}{"27017/tcp": {}, "9797/tcp": {}},
		Labels: labels(version, created),
	}
	return mutate.ConfigFile(mutate.ConfigMediaType(image, types.OCIConfigJSON), config)
}

// archiveOf returns a tar archive with only the program.
func archiveOf(program []byte, created time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{
		Name: "shardsh", Mode: 0o755, Size: int64(len(program)), ModTime: created, Typeflag: tar.TypeReg,
		Format: tar.FormatPAX,
	})
	if err == nil {
		_, err = w.Write(program)
	}
	return b.Bytes(), errors.Join(err, w.Close())
}
