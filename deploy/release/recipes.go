package main

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed recipes
var recipes embed.FS

// recipe is the data of the recipe templates.
type recipe struct {
	Version, URL string
	sums         map[string]string // by the name of the archive
}

// Archive returns the URL of the archive for a platform.
func (r recipe) Archive(system, architecture string) string {
	return r.URL + "/" + r.archiveName(system, architecture)
}

// Sum returns the checksum of the archive for a platform.
func (r recipe) Sum(system, architecture string) (string, error) {
	sum, known := r.sums[r.archiveName(system, architecture)]
	if !known {
		return "", fmt.Errorf("SHA256SUMS has no %s", r.archiveName(system, architecture))
	}
	return sum, nil
}

// Platforms returns the platforms that krew supports.
func (recipe) Platforms() map[string][]string {
	both := []string{"amd64", "arm64"}
	return map[string][]string{"darwin": both, "linux": both, "windows": both}
}

// Program returns the name of the program in an archive.
func (recipe) Program(system string) string {
	if system == "windows" {
		return "shardsh.exe"
	}
	return "shardsh"
}

func (r recipe) archiveName(system, architecture string) string {
	return "shardsh_" + r.Version + "_" + system + "_" + architecture + ".tar.gz"
}

// writeRecipes writes the recipes of package managers for archives with these checksums.
func writeRecipes(dir, sums, version, url string) error {
	if !strings.HasPrefix(url, "https://") {
		return errors.New("--url takes where the archives will be, https://…")
	}
	known, err := readSums(sums)
	if err != nil {
		return err
	}
	all, err := template.ParseFS(recipes, "recipes/*")
	if err != nil {
		return err
	}
	r := recipe{Version: version, URL: strings.TrimRight(url, "/"), sums: known}
	for _, one := range all.Templates() {
		var text strings.Builder
		if err := one.Execute(&text, r); err != nil {
			return err
		}
		path := filepath.Join(dir, one.Name())
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil { //nolint:gosec // for all
			return err
		}
	}
	return nil
}

// readSums parses the output of sha256sum.
func readSums(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the file was opened for reading only
	known := make(map[string]string)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 64 {
			return nil, fmt.Errorf("%s: %q is not a line of sha256sum", path, lines.Text())
		}
		known[name] = sum
	}
	return known, lines.Err()
}
