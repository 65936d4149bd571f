package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"shardsh/repl/ptytest"
)

var updatePicture = flag.Bool("update-picture", false, "write the README's picture again")

// The README's picture is what a terminal shows after this session, on the cluster of
// docs/first-hour.md. To make it again:
//
//	go test ./cmd/shardsh -run TestPicture -update-picture
func TestPicture(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	const file = "../../docs/picture/session.svg"
	const rows, columns = 60, 80 // all of it is on the screen in the end
	const prompt = "[mock: mongos] shop> "
	terminal := ptytest.StartSized(t, shopAtAPrompt(t), rows, columns)
	screen := terminal.ExpectPrompt(prompt, 1)
	for i, input := range []string{
		`sh.map("shop.orders")`,
		`sh.why("shop.orders")`,
		`sh.apply(sh.plan("shop.orders")).finished`,
		`sh.map("shop.orders")`,
	} {
		terminal.Press(input + "\r")
		screen = terminal.ExpectPrompt(prompt, i+2)
	}
	got := drawScreen("shardsh", "A session: a map of chunks, why they are not balanced, a plan that is carried out", columns, screen)
	if *updatePicture {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the picture is not what the session shows now: make it again with -update-picture, and look at it")
	}
}

// shopAtAPrompt is the program with the cluster of docs/first-hour.md, on virtual time.
func shopAtAPrompt(t *testing.T) *exec.Cmd {
	t.Helper()
	page, err := os.ReadFile("../../docs/first-hour.md")
	if err != nil {
		t.Fatal(err)
	}
	shop := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if shop == nil {
		t.Fatal("no cluster in docs/first-hour.md")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.json"), shop[1], 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "--mock=shop.json", "--mock-time=virtual", "--seed=7", "--quiet", "shop")
	cmd.Dir = dir
	cmd.Env = []string{onTerminal + "=1", "TERM=xterm", "PAGER=", "HOME=" + dir, "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	return cmd
}
