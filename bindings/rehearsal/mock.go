package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/rawdoc"
)

// clusterMock is the mock that replaces the cluster from the first change on.
type clusterMock struct {
	cluster  *mock.Cluster
	router   *router.Router
	note     func(string)
	snapshot *catalog.Snapshot

	mirrorState
}

// mockRequest converts a command for the mock. Retryable writes keep their transaction number;
// statements of a transaction become single commands.
func mockRequest(req wire.Request) wire.Request {
	alone := req.Body.Lookup("autocommit").IsZero()
	req.Body = editFields(req.Body, func(e bson.RawElement) (any, bool) {
		switch e.Key() {
		case "$db":
			return e.Value(), true
		case "lsid", "txnNumber":
			return e.Value(), alone
		case "readConcern":
			level := e.Value().Document().Lookup("level")
			return bson.D{{Key: "level", Value: level}}, !level.IsZero()
		}
		return e.Value(), !args.IsDriverField(e.Key())
	})
	return req
}

// run sends a command of the rehearsal itself to the mock.
func (m *clusterMock) run(ctx context.Context, database string, command bson.D) bson.Raw {
	body := marshalReply(append(command, bson.E{Key: "$db", Value: database}))
	return m.router.Handle(ctx, wire.Request{
		Database: database, Command: command[0].Key, Body: body, Client: new(wire.ClientConn),
	})
}

// processCommands are commands about a server process and its connections, which the mock knows nothing
// about.
var processCommands = strings.Fields(
	"buildInfo connPoolStats connectionStatus features getCmdLineOpts getDiagnosticData " +
		"getLog getParameter hostInfo listCommands netstat ping serverStatus top whatsmyuri lockInfo replSetGetStatus " +
		"replSetGetConfig shardingState startSession",
)

// wholeDatabaseCommands are commands that list the collections of a database.
var wholeDatabaseCommands = []string{"listCollections", "dbStats"}

// userListCommands are commands that list users and roles.
var userListCommands = []string{"usersInfo", "rolesInfo"}

// answersRead reports whether the mock answers a read-only command.
func (m *clusterMock) answersRead(req wire.Request) bool {
	name := req.Command
	if name == "explain" {
		inner, _ := req.Body.Lookup("explain").DocumentOK()
		if elems, err := inner.Elements(); err == nil && len(elems) > 0 {
			req.Command, req.Body = elems[0].Key(), inner
			return m.answersRead(req)
		}
	}
	on, isText := req.Body.Lookup(name).StringValueOK()
	switch {
	case slices.Contains(processCommands, name), req.Database == "local":
		return false
	case slices.Contains(userListCommands, name), req.Database == "config":
		return true
	case slices.Contains(wholeDatabaseCommands, name):
		return m.isDatabaseChanged(req.Database)
	case req.Database == "admin":
		return !isText || name != "find" && name != "aggregate" && name != "count" && name != "distinct"
	case name == "dataSize":
		return m.isChanged(on)
	case isText:
		return m.isChanged(req.Database + "." + on)
	}
	return false
}

// mergedListDatabases returns the reply of listDatabases, with the databases that were created or
// dropped in the mock.
func (m *clusterMock) mergedListDatabases(ctx context.Context, from *source, req wire.Request) (bson.Raw, error) {
	reply, err := from.forward(ctx, req)
	if err != nil || reply.Lookup("databases").IsZero() {
		return reply, err
	}
	mine := m.router.Handle(ctx, mockRequest(req))
	return editFields(reply, func(e bson.RawElement) (any, bool) {
		if e.Key() != "databases" {
			return e.Value(), true
		}
		list, seen := bson.A{}, map[string]bool{}
		for _, d := range catalog.Documents(e.Value()) {
			if name := rawdoc.Text(d, "name"); !m.isDropped(name) {
				list, seen[name] = append(list, d), true
			}
		}
		for _, d := range catalog.Documents(mine.Lookup("databases")) {
			if name := rawdoc.Text(d, "name"); m.isDatabaseChanged(name) && !seen[name] {
				list = append(list, d)
			}
		}
		return list, true
	}), nil
}

// addNote adds a note about a collection.
func (m *clusterMock) addNote(ns, format string, args ...any) {
	m.note("Dry run: " + ns + ": " + fmt.Sprintf(format, args...))
}
