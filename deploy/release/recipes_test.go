package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// sumsOf writes the checksums of a release: that of each archive is its number.
func sumsOf(t *testing.T, version string) (path string, sums map[string]string) {
	t.Helper()
	var text strings.Builder
	sums = make(map[string]string)
	for i, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64",
		"windows_arm64"} {
		name := "shardsh_" + version + "_" + platform + ".tar.gz"
		sums[name] = fmt.Sprintf("%064x", i+1)
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	path = filepath.Join(t.TempDir(), "SHA256SUMS")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, sums
}

// The recipes name each archive with its checksum.
func TestRecipes(t *testing.T) {
	sums, known := sumsOf(t, "1.2.3")
	dir := t.TempDir()
	if err := writeRecipes(dir, sums, "1.2.3", "https://example.com/v1.2.3/"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "shardsh.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := yaml.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	spec, _ := p["spec"].(map[string]any)
	platforms, _ := spec["platforms"].([]any)
	if spec["version"] != "v1.2.3" || len(platforms) != 6 {
		t.Errorf("%v", spec)
	}
	for _, one := range platforms {
		platform, _ := one.(map[string]any)
		uri, _ := platform["uri"].(string)
		name := filepath.Base(uri)
		if uri != "https://example.com/v1.2.3/"+name || known[name] == "" || platform["sha256"] != known[name] {
			t.Errorf("%v", platform)
		}
		if (platform["bin"] == "shardsh.exe") != strings.Contains(name, "windows") {
			t.Errorf("%s has %s", name, platform["bin"])
		}
	}
	formula, err := os.ReadFile(filepath.Join(dir, "shardsh.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for name, sum := range known {
		if !strings.Contains(name, "windows") && (!strings.Contains(string(formula), `"https://example.com/v1.2.3/`+name+`"`) ||
			!strings.Contains(string(formula), `sha256 "`+sum+`"`)) {
			t.Errorf("the formula lacks %s", name)
		}
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.CommandContext(t.Context(), ruby, "-c", filepath.Join(dir, "shardsh.rb")).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestRecipesAreRefused(t *testing.T) {
	sums, _ := sumsOf(t, "1.2.3")
	broken := filepath.Join(t.TempDir(), "SHA256SUMS")
	if err := os.WriteFile(broken, []byte("no sums"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sums, version, url, reason string }{
		{sums, "1.2.3", "http://example.com", "https://"},
		{sums, "9.9.9", "https://example.com", "SHA256SUMS has no shardsh_9.9.9"},
		{broken, "1.2.3", "https://example.com", "is not a line of sha256sum"},
	} {
		if err := writeRecipes(t.TempDir(), c.sums, c.version, c.url); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s is refused with %v", c.reason, err)
		}
	}
}
