package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"shardsh/cmd/shardsh/buildinfo"
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
		t.Skip("NO TEST of packages: this is not a checkout of git")
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

// A release has what it should; its package is installed, runs, and is gone when it is
// removed.
func TestDebianPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	t.Parallel() // most of it is waiting for other programs
	out := released(t)
	archived(t, out)
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
	dpkg := func(args ...string) {
		general := []string{"--root=" + root, "--force-not-root", "--force-bad-path", "--log=/dev/null"}
		in(t, root, "dpkg", append(general, args...)...)
	}
	dpkg("--install", only(t, out, "*.deb"))
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

// archived looks at what lies beside the package: checksums, an archive, a bill of
// materials.
func archived(t *testing.T, out string) {
	t.Helper()
	in(t, out, "sha256sum", "--check", "--quiet", "SHA256SUMS")
	content := in(t, out, "tar", "tzf", only(t, out, "*.tar.gz"))
	for _, name := range []string{"/shardsh\n", "/shardsh.1\n", "/shardsh.bash\n", "/shardsh.fish\n", "/LICENSE\n"} {
		if !strings.Contains(content, name) {
			t.Errorf("no %q in %s", name, content)
		}
	}
	bill, err := os.ReadFile(only(t, out, "*.cdx.json"))
	if err != nil || !strings.Contains(string(bill), `"bomFormat": "CycloneDX"`) {
		t.Errorf("%v: %.80s", err, bill)
	}
}

// only returns the one file of a pattern.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %q, %v", pattern, list, err)
	}
	return list[0]
}

// The same commit gives the same files, and the binary needs nothing beside it: it runs
// where nothing else is, as in an image from scratch. Building twice takes minutes.
func TestReleaseRepeats(t *testing.T) {
	if os.Getenv("SHARDSH_RELEASE") == "" {
		t.Skip("builds a release twice only with SHARDSH_RELEASE=1")
	}
	commit := strings.TrimSpace(in(t, "../..", "git", "rev-parse", "HEAD")) // which others may move
	var sums [2]string
	var out string
	for i := range sums {
		out = t.TempDir()
		in(t, "../..", ".ci/release", "--targets", "linux/"+runtime.GOARCH, "--version", "0.9.8", "--commit", commit,
			"--out", out)
		sums[i] = in(t, out, "cat", "SHA256SUMS")
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 3 {
		t.Errorf("%s\nand then\n%s", sums[0], sums[1])
	}
	in(t, out, "tar", "xzf", only(t, out, "*.tar.gz"), "--strip-components=1")
	if got := in(t, out, "./shardsh", "version"); !strings.HasPrefix(got, "shardsh 0.9.8 (") || strings.Contains(got, "changed") {
		t.Errorf("it is %s", got)
	}
	if bill := in(t, out, "./shardsh", "version", "--sbom"); !strings.Contains(bill, `"pkg:golang/`+buildinfo.DriverPath+"@v2.") {
		t.Errorf("no driver in %s", bill)
	}
	if os.Getuid() != 0 {
		t.Skip("NO TEST in an empty root: only root may change it")
	}
	empty := t.TempDir()
	in(t, out, "cp", "shardsh", empty)
	if got := in(t, empty, "chroot", empty, "/shardsh", "--quiet", "--eval", "sh.listShards().length"); got != "3\n" {
		t.Error(got)
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
