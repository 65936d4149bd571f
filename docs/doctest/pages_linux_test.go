package doctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/mock/mocktest"
)

// desk is where the blocks of a page run, one after the other.
type desk struct {
	*press
	t       *testing.T
	dir     string // has testdata/files, the scripts that ship, and what blocks leave
	blocks  []block
	cluster mark
	printed *string // by the block before; nil where it can't print
	scripts []string
	session command // the last one in which something was typed
}

// TestPages runs every block of every page; see the package. With -v it tells what is
// left out.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs")
	}
	p := newPress(t)
	usual, err := os.ReadFile("testdata/shop.js")
	if err != nil {
		t.Fatal(err)
	}
	names, blocks := pages(t)
	var mu sync.Mutex
	var ran int
	var leftOut []string
	t.Run("of", func(t *testing.T) {
		for _, name := range names {
			if len(blocks[name]) == 0 {
				continue
			}
			t.Run(strings.ReplaceAll(name, "/", ":"), func(t *testing.T) {
				t.Parallel()
				d := &desk{press: p, t: t, dir: t.TempDir(), blocks: blocks[name], cluster: mark{text: string(usual)}}
				d.furnish()
				for i, b := range d.blocks {
					if m, ok := b.mark("cluster"); ok && m.text != "usual" {
						d.cluster = m
					} else if ok {
						d.cluster = mark{text: string(usual)}
					}
					reason, out := b.leftOut("")
					if !out {
						t.Run(fmt.Sprintf("line_%d", b.line), func(t *testing.T) {
							at := *d
							at.t = t
							at.block(i)
							d.printed, d.scripts, d.session = at.printed, at.scripts, at.session
						})
					} else {
						d.printed = nil
					}
					mu.Lock()
					if ran++; out {
						ran--
						leftOut = append(leftOut, fmt.Sprintf("%s:%d: %s", name, b.line, reason))
					}
					mu.Unlock()
				}
			})
		}
	})
	slices.Sort(leftOut)
	t.Logf("%d blocks are run, %d are not:\n%s", ran, len(leftOut), strings.Join(leftOut, "\n"))
}

// furnish puts there what the commands of pages work on.
func (d *desk) furnish() {
	if err := os.CopyFS(d.dir, os.DirFS("testdata/files")); err != nil {
		d.t.Fatal(err)
	}
	for _, name := range []string{"quickstart.js", "status.js", "roles.js", "cli.js"} {
		write(d.t, filepath.Join(d.dir, "scripts", name), text(filepath.Join(d.root, "scripts", name)))
	}
	snapshot := false
	for _, b := range slices.Backward(d.blocks) { // the first of those that a page changes stays
		if name := b.file(); name != "" {
			write(d.t, filepath.Join(d.dir, name), b.text)
		}
		snapshot = snapshot || strings.Contains(b.text, "cluster.snap")
	}
	if snapshot {
		d.must(d.run(d.t.Context(), d.dir, nil, d.program(), "snapshot", d.serve(), "-o", "cluster.snap"))
		d.printed = nil
	}
}

// block runs a block, or compares it with what the one before it printed.
func (d *desk) block(i int) {
	b, before := d.blocks[i], d.printed
	d.printed = nil
	if name := b.file(); name != "" {
		write(d.t, filepath.Join(d.dir, name), b.text)
	}
	first, _ := b.mark("before")
	switch b.lang {
	case "sh", "bash":
		d.commands(b, commandsOf(b.text))
	case "text":
		d.text(b, before)
	case "js", "ts":
		d.script(i, first.text)
	case "json":
		if !json.Valid([]byte(b.text)) {
			d.t.Error("this is not JSON")
		}
	case "yaml":
		d.yaml(b)
	case "go":
		d.golang(b)
	case "python":
		d.python(b)
	}
}

// commands runs those that are not left out.
func (d *desk) commands(b block, list []command) {
	var printed strings.Builder
	list = slices.DeleteFunc(list, func(c command) bool {
		reason, out := b.leftOut(c.text)
		if !out && strings.HasPrefix(c.text, "mongosh ") && !d.hasMongosh() {
			reason, out = "it is not installed", true
		}
		if out {
			d.t.Logf("not run: %s: %s", c.text, reason)
		}
		return out
	})
	for _, r := range d.after(b, list) {
		printed.WriteString(r.out)
	}
	said := printed.String()
	d.printed = &said
}

// after runs commands after those that the block's mark says come first.
func (d *desk) after(b block, list []command) []ran {
	var first []command
	if m, ok := b.mark("before"); ok {
		first = commandsOf(m.text + "\n")
	}
	return d.bash(append(first, list...))[len(first):]
}

// text compares an output with that of the block before, or runs a session.
func (d *desk) text(b block, before *string) {
	goesOn := prompt.MatchString(b.text) && d.session.typed != ""
	if !goesOn && !strings.HasPrefix(b.text, "$ ") {
		if before == nil {
			d.t.Fatal("nothing before this text prints it, and it begins with no command")
		}
		if !shows(b.text, *before) {
			d.t.Errorf("what is printed is\n%s", *before)
		}
		return
	}
	var list []command
	if goesOn { // from the beginning, as the one before has ended
		list = []command{d.session}
	}
	list = sessionOf(list, b.text)
	d.session = list[len(list)-1]
	for i, r := range d.after(b, list) {
		out, shown := r.out, list[i].shown
		if list[i].typed != "" {
			out, shown = lastPrompt.ReplaceAllString(out, ""), lastPrompt.ReplaceAllString(shown, "")
		}
		if !shows(shown, out) && !shows(shown, out+r.errs) {
			d.t.Errorf("%s prints\n%s%s", list[i].text, out, r.errs)
		}
	}
}

var lastPrompt = regexp.MustCompile(`(?:\[[^\]]+\] )+\w+> \z`)

// script runs a script on a mock, unless it is a file that another block runs.
func (d *desk) script(i int, first string) {
	b := d.blocks[i]
	name := b.file()
	for j, other := range d.blocks {
		if name != "" && j != i && (strings.Contains(other.text, name)) {
			return
		}
	}
	if _, ok := b.mark("with node"); ok {
		d.node(b)
		return
	}
	if _, ok := b.mark("goes on"); !ok {
		d.scripts = nil
	}
	file, options, err := d.world(d.cluster)
	if err != nil {
		d.t.Fatal(err)
	}
	args := append([]string{"--quiet", "--snapshot", file}, options...)
	for _, text := range slices.Concat(d.scripts, []string{first}) {
		if text != "" {
			args = append(args, "--eval", text)
		}
	}
	text := b.text
	if anyHost.MatchString(text) {
		text = anyHost.ReplaceAllString(text, d.serve())
	}
	d.scripts = append(d.scripts, text)
	const here = "-- here it begins --\n"
	args = append(args, "--eval", fmt.Sprintf("print(%q)", strings.TrimSpace(here)), "--eval", text)
	r, err := d.run(d.t.Context(), d.dir, nil, d.program(), args...)
	want := 0
	if exitCode.MatchString(b.text) {
		want = 1
	}
	if err != nil || r.code != want {
		d.t.Errorf("exit code %d, %v\n%s%s", r.code, err, r.out, r.errs)
	}
	_, said, _ := strings.Cut(r.out, here)
	d.printed = &said
}

// yaml reads a document, and runs its steps.
func (d *desk) yaml(b block) {
	var list []command
	for decoder := yaml.NewDecoder(strings.NewReader(b.text)); ; {
		var doc yaml.Node
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			d.t.Fatal(err)
		}
		list = append(list, stepsOf(&doc)...)
	}
	d.commands(b, list)
}

// serve listens for a mock with the page's cluster, and returns its address.
func (d *desk) serve() string {
	d.t.Helper()
	file, options, err := d.world(d.cluster)
	if err != nil {
		d.t.Fatal(err)
	}
	how := []mocktest.Option{mocktest.WithVirtualTime(), mocktest.WithSnapshot(file),
		mocktest.WithParameter("orphanCleanupDelaySecs", 0)}
	if len(options) > 1 {
		how = append(how, mocktest.WithRelease(options[1]))
	}
	uri := mocktest.Start(d.t, 1, how...)
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}

// golang runs tests.
func (d *desk) golang(b block) {
	source := "package example\n\nimport (\n"
	for _, path := range []string{"testing", "shardsh/balancer/mock/mocktest"} {
		if strings.Contains(b.text, filepath.Base(path)+".") {
			source += fmt.Sprintf("\t%q\n", path)
		}
	}
	dir := d.t.TempDir()
	write(d.t, filepath.Join(dir, "x.go"), source+")\n\n"+b.text)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(d.root, "docs", "doctest", "example", "example_test.go"): filepath.Join(dir, "x.go"),
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	write(d.t, filepath.Join(dir, "overlay.json"), string(overlay))
	program := filepath.Join(dir, "example.test")
	d.must(d.run(d.t.Context(), d.root, nil, "go", "test", "-c", "-vet=off", "-o", program,
		"-overlay", filepath.Join(dir, "overlay.json"), "./docs/doctest/example"))
	d.must(d.run(d.t.Context(), dir, nil, program))
}

// python runs a program with the client of clients/python, with PyMongo where it is.
func (d *desk) python(b block) {
	write(d.t, filepath.Join(d.dir, "program.py"), b.text)
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if r, err := d.run(d.t.Context(), d.dir, nil, name, "-c", "import pymongo"); err == nil && r.code == 0 {
			env := []string{"PYTHONPATH=" + filepath.Join(d.root, "clients", "python")}
			d.must(d.run(d.t.Context(), d.dir, env, name, "program.py"))
			return
		}
	}
	d.missing("PyMongo")
}

// node runs a program with the client of clients/node and the driver.
func (d *desk) node(b block) {
	modules := filepath.Join(d.cache, "node-driver", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "mongodb")); err != nil {
		d.missing("the Node driver")
	}
	dir := d.t.TempDir()
	for _, file := range []string{"package.json", "shardsh.mjs"} {
		write(d.t, filepath.Join(dir, "node_modules", "shardsh", file), text(filepath.Join(d.root, "clients/node", file)))
	}
	for _, module := range []string{"mongodb", "bson", "mongodb-connection-string-url", "@mongodb-js"} {
		if err := os.Symlink(filepath.Join(modules, module), filepath.Join(dir, "node_modules", module)); err != nil {
			d.t.Fatal(err)
		}
	}
	write(d.t, filepath.Join(dir, "program.mjs"), b.text)
	d.must(d.run(d.t.Context(), dir, nil, "node", "program.mjs"))
}

// hasMongosh tells whether mongosh is where .ci/install puts it.
func (d *desk) hasMongosh() bool {
	_, err := os.Stat(filepath.Join(d.cache, "mongosh", "node_modules", ".bin", "mongosh"))
	if err != nil && inCI() {
		d.missing("mongosh")
	}
	return err == nil
}

func inCI() bool {
	ci := os.Getenv("CI")
	return ci != "" && ci != "0" && ci != "false"
}

func (d *desk) must(r ran, err error) {
	d.t.Helper()
	if err != nil || r.code != 0 {
		d.t.Errorf("exit code %d, %v\n%s%s", r.code, err, r.out, r.errs)
	}
	d.printed = &r.out
}

// missing ends a test that needs what is not there: only .ci/install's machines have to
// have it.
func (d *desk) missing(what string) {
	d.t.Helper()
	if inCI() {
		d.t.Fatalf("there is no %s: .ci/install puts it there", what)
	}
	d.t.Skipf("there is no %s", what)
}
