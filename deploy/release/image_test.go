package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// program writes a file to be in an image.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shardsh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// images returns the images of a layout by platform.
func images(t *testing.T, dir string) map[string]v1.Image {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := outer.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		t.Fatal(list, err)
	}
	index, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]v1.Image)
	for _, m := range manifests.Manifests {
		if found[m.Platform.String()], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// An image has the program of its platform alone, which runs from what is in the layer.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	amd, arm := program(t, "#!/bin/sh\necho ran $1\n"), program(t, "another")
	err := writeImage(dir, map[string]string{"linux/amd64": amd, "linux/arm64": arm}, "1.2.3", noon)
	if err != nil {
		t.Fatal(err)
	}
	found := images(t, dir)
	if len(found) != 2 {
		t.Fatalf("%d images", len(found))
	}
	config, err := found["linux/amd64"].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "amd64" || config.Config.User != "65532:65532" ||
		!slices.Equal(config.Config.Entrypoint, []string{"/shardsh"}) || !config.Created.Equal(noon) ||
		config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" || len(config.RootFS.DiffIDs) != 1 {
		t.Errorf("%+v", config)
	}
	layers, err := found["linux/amd64"].Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(content)
	header, err := files.Next()
	if err != nil || header.Name != "shardsh" || header.Mode != 0o755 || header.Uid != 0 {
		t.Fatal(header, err)
	}
	out := filepath.Join(t.TempDir(), "shardsh")
	text, err := io.ReadAll(files)
	if err := errors.Join(err, os.WriteFile(out, text, 0o700)); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), out, "well").Output(); err != nil || string(said) != "ran well\n" {
		t.Errorf("it says %q, %v", said, err)
	}
	if next, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is %v besides", next)
	}
}

// The same programs give the same digests, others give others; a layout that was damaged is
// found out.
func TestImagesAreReproducible(t *testing.T) {
	write := func(text string) (dir string, digest v1.Hash) {
		dir = t.TempDir()
		if err := writeImage(dir, map[string]string{"linux/amd64": program(t, text)}, "1.2.3", noon); err != nil {
			t.Fatal(err)
		}
		digest, err := images(t, dir)["linux/amd64"].Digest()
		if err != nil {
			t.Fatal(err)
		}
		return dir, digest
	}
	dir, first := write("a")
	if _, again := write("a"); again != first {
		t.Errorf("%s and %s", first, again)
	}
	if _, other := write("b"); other == first {
		t.Error("another program has the same digest")
	}
	layers, err := images(t, dir)["linux/amd64"].Layers()
	if err != nil {
		t.Fatal(err)
	}
	blob, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "blobs", blob.Algorithm, blob.Hex), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verifyLayout(dir); err == nil {
		t.Error("a damaged layer is not found")
	}
}
