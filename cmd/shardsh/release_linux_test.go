package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// released packs this test as if it were the program, which .ci/release would build
// otherwise, and returns the directory.
func released(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"git", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NO TEST of packages: %s is not here", program)
		}
	}
	if err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Run(); err != nil {
		t.Skip("NO TEST of packages: this is no checkout of git")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// In place of the program, which takes long to pack, a line that runs it.
	binary := writeFile(t, "shardsh", "#!/bin/sh\nexec env "+onTerminal+"=1 "+self+" \"$@\"\n")
	if err := os.Chmod(binary, 0o755); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	in(t, "../..", ".ci/release", "--binary", binary, "--out", out)
	return out
}

// in runs a program in a directory; it must end well. The output is returned.
func in(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The package is installed, runs, and is gone when it is removed.
func TestDebianPackage(t *testing.T) {
	out := released(t)
	packages, err := filepath.Glob(filepath.Join(out, "*.deb"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("%q, %v", packages, err)
	}
	root := t.TempDir()
	admin := filepath.Join(root, "var/lib/dpkg")
	for _, dir := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(admin, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) string {
		return in(t, root, "dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-bad-path", "--log=/dev/null"},
			args...)...)
	}
	dpkg("--install", packages[0])
	installed := filepath.Join(root, "usr/bin/shardsh")
	if got := in(t, root, installed, "--nodb", "--eval", "6 * 7"); got != "42\n" {
		t.Errorf("it answers %q", got)
	}
	for file, part := range map[string]string{
		"usr/share/bash-completion/completions/shardsh":    "complete -F _shardsh shardsh",
		"usr/share/zsh/vendor-completions/_shardsh":        "#compdef shardsh",
		"usr/share/fish/vendor_completions.d/shardsh.fish": "complete -c shardsh",
		"usr/share/doc/shardsh/copyright":                  "Apache License",
		"var/lib/dpkg/status":                              "Status: install ok installed",
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s: %v", file, err)
		}
	}
	page := in(t, root, "gzip", "-dc", "usr/share/man/man1/shardsh.1.gz")
	if !strings.HasPrefix(page, `.TH "SHARDSH" "1"`) {
		t.Errorf("the manual page begins with %.40q", page)
	}
	dpkg("--purge", "shardsh")
	if _, err := os.Stat(installed); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// The checksums are right, the archive has all that it should, and a second release of
// the same is the same.
func TestReleaseRepeats(t *testing.T) {
	out := released(t)
	in(t, out, "sha256sum", "--check", "--quiet", "SHA256SUMS")
	list, err := filepath.Glob(filepath.Join(out, "*.tar.gz"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%q, %v", list, err)
	}
	content := in(t, out, "tar", "tzf", list[0])
	for _, name := range []string{"/shardsh\n", "/shardsh.1\n", "/shardsh.bash\n", "/shardsh.fish\n", "/LICENSE\n"} {
		if !strings.Contains(content, name) {
			t.Errorf("no %q in %s", name, content)
		}
	}
	bills, err := filepath.Glob(filepath.Join(out, "*.cdx.json"))
	if err != nil || len(bills) != 1 {
		t.Fatalf("%q, %v", bills, err)
	}
	if bill, err := os.ReadFile(bills[0]); err != nil || !strings.Contains(string(bill), `"bomFormat": "CycloneDX"`) {
		t.Errorf("%v: %.80s", err, bill)
	}
}

// An image of the program alone is built where something builds images.
func TestImage(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\nFROM scratch\nCOPY shardsh /shardsh\n") {
		t.Errorf("the image is not of the program alone:\n%s", text)
	}
	builder := ""
	for _, name := range []string{"docker", "podman"} {
		if exec.CommandContext(t.Context(), name, "info").Run() == nil {
			builder = name
			break
		}
	}
	if builder == "" {
		t.Skip("NO TEST of the image: neither docker nor podman builds here")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "shardsh"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dockerfile, err := filepath.Abs("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	image := strings.TrimSpace(in(t, dir, builder, "build", "-q", "-f", dockerfile, dir))
	defer in(t, dir, builder, "rmi", image)
	got := in(t, dir, builder, "run", "--rm", "--network=none", image, "--eval", "sh.listShards().length")
	if !strings.HasSuffix(got, "3\n") {
		t.Error(got)
	}
}
