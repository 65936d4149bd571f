package docs

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// mockAt returns a way to ask a mock of a release.
func mockAt(t *testing.T, release catalog.Release) func(db string, command bson.Raw) bson.Raw {
	t.Helper()
	return asking(t, router.New(newMock(t, release), nil))
}

func newMock(t *testing.T, release catalog.Release) *mock.Cluster {
	t.Helper()
	cluster, err := mock.New(mock.Config{Topology: mock.DefaultTopology(2), Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func asking(t *testing.T, r *router.Router) func(db string, command bson.Raw) bson.Raw {
	t.Helper()
	client := &wire.ClientConn{ID: 1}
	return func(db string, command bson.Raw) bson.Raw {
		first, err := command.IndexErr(0)
		if err != nil {
			t.Fatal(err)
		}
		return r.Handle(t.Context(), wire.Request{Database: db, Command: first.Key(), Body: command, Client: client})
	}
}

func document(t *testing.T, text string) bson.Raw {
	t.Helper()
	var raw bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(text), false, &raw); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return raw
}

func codeOf(reply bson.Raw) mongoerr.Code {
	code, _ := reply.Lookup("code").AsInt64OK()
	return mongoerr.Code(code)
}

// The rows of the tables of refusals: a database, where it is not app, the
// command, and the code.
var refusal = regexp.MustCompile("(?m)^\\| [^|]*\\| (?:`(\\w+)` )?`(\\{.*\\})` \\| (\\d+) \\|")

// What docs/boundary.md says that the mock refuses, it refuses with this code;
// and what it refuses as not implemented is there.
func TestTheBoundaryOfTheMock(t *testing.T) {
	text, err := os.ReadFile("boundary.md")
	if err != nil {
		t.Fatal(err)
	}
	ask, askNewest := mockAt(t, catalog.Release80), mockAt(t, catalog.Release83)
	ask("app", document(t, `{"insert": "c", "documents": [{"_id": 1, "a": 1}]}`))
	member := router.Member{Shard: "shard0", Set: "rs0", Address: "127.0.0.1:27018"}
	askMember := asking(t, member.NewNode(router.New(newMock(t, catalog.Release80), nil)))
	ofMongos, ofMember, found := strings.Cut(string(text), "\n## On the port of a shard")
	if !found {
		t.Fatal("there is no section on the ports of shards")
	}
	var listed, messages []string
	for _, m := range refusal.FindAllStringSubmatch(ofMember, -1) {
		reply := askMember(cmp.Or(m[1], "app"), document(t, m[2]))
		if want, _ := strconv.Atoi(m[3]); int(codeOf(reply)) != want {
			t.Errorf("a shard answers %s with %s, want code %d", m[2], reply, want)
		}
		messages = append(messages, reply.Lookup("errmsg").StringValue())
	}
	if len(messages) < 6 {
		t.Fatalf("only %d refusals of shards", len(messages))
	}
	for _, m := range refusal.FindAllStringSubmatch(ofMongos, -1) {
		db, command := cmp.Or(m[1], "app"), document(t, m[2])
		reply := ask(db, command)
		if codeOf(reply) == mongoerr.CommandNotFound {
			reply = askNewest(db, command)
		}
		if want, _ := strconv.Atoi(m[3]); int(codeOf(reply)) != want {
			t.Errorf("%s: %s, want code %d", m[2], reply, want)
		}
		listed = append(listed, command.Index(0).Key())
		messages = append(messages, reply.Lookup("errmsg").StringValue())
	}
	if len(listed) < 60 {
		t.Fatalf("only %d refusals", len(listed))
	}
	for _, c := range commands.All() {
		if c.Refused == nil || slices.Contains(listed, c.Name) {
			continue
		}
		var refused *mongoerr.ServerError
		if err := c.Refused.Err(c.Name); errors.As(err, &refused) && refused.Code == mongoerr.NotImplemented {
			t.Errorf("%s is refused, and not in docs/boundary.md", c.Name)
		}
	}

	all, err := ask("admin", document(t, `{"listCommands": 1}`)).Lookup("commands").Document().Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		reply := ask("admin", document(t, `{`+strconv.Quote(c.Key())+`: 1}`))
		if codeOf(reply) == mongoerr.NotImplemented && !slices.Contains(listed, c.Key()) {
			t.Errorf("%s is refused (%s), and not in docs/boundary.md", c.Key(), reply)
		}
	}
	for place, refused := range refusalsIn(t, "../balancer/mock") {
		if !slices.ContainsFunc(messages, refused.MatchString) {
			t.Errorf("%s refuses with %q, and nothing in docs/boundary.md is refused so", place, refused)
		}
	}
}

var verb = regexp.MustCompile(`%[a-z]`)

// refusalsIn returns the texts of the NotImplemented errors that the sources in
// a directory make, by place.
func refusalsIn(t *testing.T, dir string) map[string]*regexp.Regexp {
	t.Helper()
	found := map[string]*regexp.Regexp{}
	files := token.NewFileSet()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) < 2 {
				return true
			}
			code, is := call.Args[0].(*ast.SelectorExpr)
			text, isText := call.Args[1].(*ast.BasicLit)
			if !is || !isText || code.Sel.Name != "NotImplemented" {
				return true
			}
			format, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Error(err)
			}
			parts := verb.Split(format, -1)
			for i, part := range parts {
				parts[i] = regexp.QuoteMeta(part)
			}
			found[files.Position(call.Pos()).String()] = regexp.MustCompile(strings.Join(parts, ".+"))
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 15 {
		t.Errorf("only %d refusals in the sources", len(found))
	}
	return found
}
