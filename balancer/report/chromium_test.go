//go:build unix

package report_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for the browser; it is spent only when the
// test fails.
const patience = 90 * time.Second

// programs are what Chromium is called.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// browser is a running browser with one page: tests click and type as a user does, and
// ask what it shows then. It speaks Chromium's DevTools protocol over a pipe, and needs
// no driver.
type browser struct {
	t        testing.TB
	commands *os.File
	replies  chan browserReply
	number   int
	session  string
	// Troubles are what went wrong on the page: errors of scripts, and what its
	// policy did not let it do. Requests are what it asked for.
	Troubles, Requests []string
}

// browserReply is an answer of the browser, or an event.
type browserReply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// startBrowser starts a browser that ends with the test. Without one the test is skipped,
// and fails where CI is set.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	program := find(t)
	commandsOut, commandsIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	repliesOut, repliesIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "report-browser-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{commandsOut, repliesIn}   // it reads 3 and writes 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its helpers end with it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	commandsOut.Close()
	repliesIn.Close()
	b := &browser{t: t, commands: commandsIn, replies: make(chan browserReply, 1000)}
	go b.listen(repliesOut)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
		commandsIn.Close()
		remove(t, profile)
	})
	b.attach()
	return b
}

// remove takes a folder away in which processes that were killed may be writing
// their last.
func remove(t testing.TB, dir string) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	t.Errorf("the browser's files stay: %v", err)
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const text = "NOT LOOKED AT in a browser: there is no Chromium (apt-get install chromium)"
	switch strings.ToLower(os.Getenv("CI")) {
	case "", "0", "false":
		t.Skip(text)
	}
	t.Fatal(text + "; CI is set: .ci/install puts there what tests need")
	return ""
}

func (b *browser) listen(from *os.File) {
	defer from.Close()
	defer close(b.replies)
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var one browserReply
		if json.Unmarshal(text[:len(text)-1], &one) == nil {
			b.replies <- one
		}
	}
}

// attach opens a page and has the browser tell of what happens there.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", map[string]any{}, nil)
	}
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.number++
	message := map[string]any{"id": b.number, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.commands.Write(append(text, 0)); err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	answer := b.wait(method, func(r browserReply) bool { return r.ID == b.number })
	if answer.Error != nil {
		b.t.Fatalf("%s: %s", method, answer.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			b.t.Fatal(err)
		}
	}
}

// wait reads what the browser tells until something comes.
func (b *browser) wait(what string, wanted func(browserReply) bool) browserReply {
	b.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case r, open := <-b.replies:
			if !open {
				b.t.Fatalf("%s: the browser has ended", what)
			}
			b.notice(r)
			if wanted(r) {
				return r
			}
		case <-timeout:
			b.t.Fatalf("%s: the browser does not answer", what)
		}
	}
}

// notice keeps what tells of trouble.
func (b *browser) notice(r browserReply) {
	switch r.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		b.Troubles = append(b.Troubles, string(r.Params))
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(r.Params, &sent) == nil {
			b.Requests = append(b.Requests, sent.Request.URL)
		}
	}
}

// Open shows a text as a page.
func (b *browser) Open(html string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.Troubles, b.Requests = nil, nil
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for b.text("document.readyState + location.protocol") != "completefile:" {
		b.wait("loading", func(r browserReply) bool { return r.Method == "Page.loadEventFired" })
	}
}

// Eval evaluates an expression on the page into a value.
func (b *browser) Eval(expression string, value any) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	if err := json.Unmarshal(got.Result.Value, value); err != nil {
		b.t.Fatalf("%s: %v: %s", expression, err, got.Result.Value)
	}
}

func (b *browser) text(expression string) (text string) {
	b.t.Helper()
	b.Eval(expression, &text)
	return text
}

// Is fails the test unless an expression has a value, as JSON spells it.
func (b *browser) Is(expression, want string) {
	b.t.Helper()
	if got := b.text("JSON.stringify(" + expression + ") ?? 'undefined'"); got != want {
		b.t.Errorf("%s is %s, want %s", expression, got, want)
	}
}

// Click clicks into the middle of the first element of a CSS selector, with a
// mouse: what lies above the element gets it instead.
func (b *browser) Click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{
			"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1,
		}, nil)
	}
}

// Type types a text where the focus is.
func (b *browser) Type(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Press presses a key, such as Enter.
func (b *browser) Press(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key}, nil)
	}
}

// Media sets the colours that the user prefers, light or dark, and what the page is
// for: screen or print.
func (b *browser) Media(scheme, medium string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": medium, "features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme},
	}}, nil)
}

// Width sets the width of the window.
func (b *browser) Width(pixels int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": false,
	}, nil)
}

// Shot writes a picture of the whole page as a PNG.
func (b *browser) Shot(path string) {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(path, shot.Data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// Print returns the page as a PDF.
func (b *browser) Print() []byte {
	b.t.Helper()
	var pdf struct{ Data []byte }
	b.call("Page.printToPDF", map[string]any{"printBackground": true}, &pdf)
	return pdf.Data
}
