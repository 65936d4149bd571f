package balancer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deciding are the rooms that decide: plain values in, plain values out. Those
// that come later count as soon as their folder is there.
func deciding(t *testing.T) (rooms []string) {
	t.Helper()
	for _, room := range []string{"catalog", "policy", "sim", "diagnosis", "plan", "forecast", "whatif", "check", "report",
		"report/machine", "export", "keyadvice", "heat", "diff", "preflight", "advisory", "verify", "placement", "price"} {
		if _, err := os.Stat(room); err == nil {
			rooms = append(rooms, room)
		}
	}
	if !slices.Contains(rooms, "policy") {
		t.Fatal("the rooms are not where this test looks")
	}
	return rooms
}

// outside matches what deciding rooms know nothing of: a driver's client,
// JavaScript, the mock.
var outside = regexp.MustCompile(`^(go\.mongodb\.org/mongo-driver/(v2/)?(mongo|x/mongo)(/|$)|` +
	`github\.com/dop251/goja|shardsh/balancer/(mock|live)(/|$)|net(/http)?$)`)

func TestDecidingRoomsImportNoClient(t *testing.T) {
	for _, room := range deciding(t) {
		out, err := exec.Command("go", "list", "-deps", "./"+room).Output()
		if err != nil {
			t.Fatalf("go list of %s: %v", room, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			if outside.MatchString(dep) {
				t.Errorf("%s depends on %s", room, dep)
			}
		}
	}
	for dep, want := range map[string]bool{
		"go.mongodb.org/mongo-driver/v2/bson":                false,
		"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore":    false,
		"go.mongodb.org/mongo-driver/v2/mongo":               true,
		"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wire": true,
		"github.com/dop251/goja":                             true,
		"shardsh/balancer/mock/store":                        true,
		"shardsh/balancer/mongoerr":                          false,
	} {
		if outside.MatchString(dep) != want {
			t.Errorf("%s is taken for the wrong side", dep)
		}
	}
}

// Use cases work on any cluster, and know no face of theirs.
func TestActionsKnowNeitherMockNorFaces(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./action").Output()
	if err != nil {
		t.Fatal(err)
	}
	face := regexp.MustCompile(`^(shardsh/(bindings|cmd|repl|balancer/mock)(/|$)|github\.com/(dop251/goja|spf13/pflag))`)
	for dep := range strings.FieldsSeq(string(out)) {
		if face.MatchString(dep) {
			t.Errorf("action depends on %s", dep)
		}
	}
}

// What is for tests alone is not part of the program.
func TestProgramHasNoRoomsForTests(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../cmd/shardsh").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "shardsh/balancer/mock") {
		t.Fatal("the program is not where this test looks")
	}
	for _, room := range []string{"shardsh/balancer/mock/mocktest", "shardsh/balancer/mock/store/storetest",
		"shardsh/balancer/mock/router/routertest", "shardsh/bindings/shelltest",
		"shardsh/balancer/catalog/snaptest",
		"shardsh/balancer/enginetest", "testing", "pgregory.net/rapid"} {
		if slices.Contains(deps, room) {
			t.Errorf("the program depends on %s", room)
		}
	}
}

// TestDecidingRoomsHaveNoClock: they are told the time, so that an answer can be
// had again. Goroutines would make it depend on the scheduler.
func TestDecidingRoomsHaveNoClock(t *testing.T) {
	for _, room := range deciding(t) {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, found := range impure(t, path, nil) {
				t.Error(found)
			}
		}
	}
	const sample = `package x; import "time"; func f() { go f(); _ = time.Now(); <-time.After(1); _ = time.Second }`
	if got := impure(t, "sample.go", sample); len(got) != 3 {
		t.Errorf("found %q in the sample", got)
	}
}

// impure lists where a file reads a clock, waits, or starts a goroutine.
func impure(t *testing.T, path string, src any) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, set.Position(n.Pos()).String()+": a goroutine")
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				found = append(found, set.Position(n.Pos()).String()+": time."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}
