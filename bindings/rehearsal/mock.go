package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// clusterMock is the mock that plays the cluster from the first change on.
type clusterMock struct {
	cluster *mock.Cluster
	router  *router.Router
	note    func(string)
	picture *catalog.Snapshot

	state
}

// mockRequest returns a command as the mock gets it: retryable writes keep their number,
// statements of a transaction are commands of their own.
func mockRequest(req wire.Request) wire.Request {
	alone := req.Body.Lookup("autocommit").IsZero()
	req.Body = edited(req.Body, func(e bson.RawElement) (any, bool) {
		switch e.Key() {
		case "$db":
			return e.Value(), true
		case "lsid", "txnNumber":
			return e.Value(), alone
		case "readConcern":
			level := e.Value().Document().Lookup("level")
			return bson.D{{Key: "level", Value: level}}, !level.IsZero()
		}
		return e.Value(), !ofDriver[e.Key()]
	})
	return req
}

// run has the mock do something for the rehearsal itself.
func (s *clusterMock) run(ctx context.Context, database string, command bson.D) bson.Raw {
	body := mustMarshal(append(command, bson.E{Key: "$db", Value: database}))
	return s.router.Handle(ctx, wire.Request{
		Database: database, Command: command[0].Key, Body: body, Client: new(wire.Client),
	})
}

// ofProcess are commands about a server and its connections, which a mock in its
// place would know nothing of.
var ofProcess = strings.Fields("buildInfo connPoolStats connectionStatus features getCmdLineOpts getDiagnosticData " +
	"getLog getParameter hostInfo listCommands netstat ping serverStatus top whatsmyuri lockInfo replSetGetStatus " +
	"replSetGetConfig shardingState startSession")

// ofDatabase are commands that tell of the collections of a database.
var ofDatabase = []string{"listCollections", "dbStats"}

// ofUsers are commands that tell of users and roles.
var ofUsers = []string{"usersInfo", "rolesInfo"}

// knows reports whether the mock is to answer what changes nothing.
func (s *clusterMock) knows(req wire.Request) bool {
	name := req.Command
	if name == "explain" {
		inner, _ := req.Body.Lookup("explain").DocumentOK()
		if elems, err := inner.Elements(); err == nil && len(elems) > 0 {
			req.Command, req.Body = elems[0].Key(), inner
			return s.knows(req)
		}
	}
	on, isText := req.Body.Lookup(name).StringValueOK()
	switch {
	case slices.Contains(ofProcess, name), req.Database == "local":
		return false
	case slices.Contains(ofUsers, name), req.Database == "config":
		return true
	case slices.Contains(ofDatabase, name):
		return s.changedIn(req.Database)
	case req.Database == "admin":
		return !isText || name != "find" && name != "aggregate" && name != "count" && name != "distinct"
	case name == "dataSize":
		return s.changed(on)
	case isText:
		return s.changed(req.Database + "." + on)
	}
	return false
}

// databasesToo is listDatabases, with those that the mock has more or less.
func (s *clusterMock) databasesToo(ctx context.Context, from *source, req wire.Request) (bson.Raw, error) {
	reply, err := from.ask(ctx, req)
	if err != nil || reply.Lookup("databases").IsZero() {
		return reply, err
	}
	mine := s.router.Handle(ctx, mockRequest(req))
	return edited(reply, func(e bson.RawElement) (any, bool) {
		if e.Key() != "databases" {
			return e.Value(), true
		}
		list, seen := bson.A{}, map[string]bool{}
		for _, d := range documents(e.Value()) {
			if name := nameOf(d); !s.isDropped(name) {
				list, seen[name] = append(list, d), true
			}
		}
		for _, d := range documents(mine.Lookup("databases")) {
			if name := nameOf(d); s.changedIn(name) && !seen[name] {
				list = append(list, d)
			}
		}
		return list, true
	}), nil
}

func nameOf(doc bson.Raw) string {
	name, _ := doc.Lookup("name").StringValueOK()
	return name
}

func documents(v bson.RawValue) (docs []bson.Raw) {
	list, _ := v.ArrayOK()
	values, err := list.Values()
	if err != nil {
		return nil
	}
	for _, v := range values {
		if doc, ok := v.DocumentOK(); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

// addNote adds a note about a collection.
func (s *clusterMock) addNote(ns, format string, args ...any) {
	s.note("Dry run: " + ns + ": " + fmt.Sprintf(format, args...))
}
