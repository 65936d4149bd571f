package sh

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// shellRunner sends what a reader of the cluster asks for the way all commands of the
// shell go: past its guard, in its session, to the connection of a database.
type shellRunner struct {
	gateway       *server.Gateway
	admin, config *server.Database
}

func (a shellRunner) request(database string, command bson.D) server.Request {
	d := a.admin
	if database == "config" {
		d = a.config
	}
	return d.Request(command, server.Reads)
}

// Ask sends a command. The shell's own context bounds it.
func (a shellRunner) RunCommand(_ context.Context, database string, command bson.D) (bson.Raw, error) {
	return a.gateway.Send(a.request(database, command))
}

// List returns the documents of a cursor.
func (a shellRunner) RunCursorCommand(_ context.Context, database string, command bson.D) ([]bson.Raw, error) {
	return a.gateway.TryAll(a.request(database, command))
}

// shellRunner sends on the connection of the current db.
func (sh *Helpers) commandRunner() shellRunner {
	return shellRunner{sh.s.Gateway, sh.current().Sibling("admin"), sh.config()}
}

// look reads parts of the cluster that a database belongs to; another config
// database may stand in for its own. What fails is thrown.
func (s *Host) look(d, config *server.Database, l live.Look) *live.Overview {
	seen, err := s.tryLook(d, config, l)
	var part *live.PartError
	switch {
	case errors.As(err, &part):
		s.Gateway.Throw(part.Err)
	case err != nil:
		s.Gateway.Throw(err)
	}
	return seen
}

// tryLook is look for those who can do without.
func (s *Host) tryLook(d, config *server.Database, l live.Look) (*live.Overview, error) {
	l.Now = s.JS.Clock.Now()
	ask := shellRunner{s.Gateway, d.Sibling("admin"), config}
	seen, err := l.Read(s.JS.Context(), ask)
	if l.Parts&live.Balancer == 0 || l.Release != (catalog.Release{}) || !lacksBalancer(seen, err) {
		return seen, err
	}
	old, known := catalog.ReleaseOf(d.Conn.Version().String())
	if !known || old.HasModes() {
		return seen, err
	}
	l.Release = old // which has other places to look at
	return l.Read(s.JS.Context(), ask)
}

// lacksBalancer reports whether the server has no command that tells of the balancer.
func lacksBalancer(seen *live.Overview, err error) bool {
	if err != nil {
		return server.CodeOf(err) == server.CommandNotFound
	}
	return slices.ContainsFunc(seen.Parts().Source.Gaps, func(g catalog.Gap) bool {
		return g.What == "balancer" && g.Code == server.CommandNotFound
	})
}

// Look reads parts of the cluster that a database belongs to. What fails is
// thrown.
func (s *Host) Look(d *server.Database, l live.Look) *live.Overview {
	return s.look(d, d.Sibling("config"), l)
}

func (sh *Helpers) look(l live.Look) *live.Overview { return sh.s.look(sh.current(), sh.config(), l) }

// release returns the line of releases the server belongs to, and whether its
// version could be read.
func (sh *Helpers) release() (r catalog.Release, known bool) {
	v := sh.version()
	return catalog.ReleaseOf(fmt.Sprintf("%d.%d", v[0], v[1]))
}

// document returns one of the documents of config's small collections that were
// read, by its _id; nil when there is none.
func document(seen *live.Overview, collection, id string) bson.Raw {
	for _, doc := range seen.Parts().Config[collection] {
		if rawdoc.Text(doc, "_id") == id {
			return doc
		}
	}
	return nil
}

// unread returns why something was not read; empty when it was.
func unread(seen *live.Overview, what string) string {
	for _, gap := range seen.Parts().Source.Gaps {
		if gap.What == what {
			return gap.Reason
		}
	}
	return ""
}
