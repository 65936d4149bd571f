package sh

import (
	"context"
	"errors"
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// asker sends what a reader of the cluster asks for the way all commands of the
// shell go: past its guard, in its session, to the connection of a database.
type asker struct {
	gateway       *server.Gateway
	admin, config *server.Database
}

func (a asker) request(database string, command bson.D) server.Request {
	d := a.admin
	if database == "config" {
		d = a.config
	}
	return d.Request(command, server.Reads)
}

// Ask sends a command. The shell's own context bounds it.
func (a asker) Ask(_ context.Context, database string, command bson.D) (bson.Raw, error) {
	return a.gateway.Send(a.request(database, command))
}

// List returns the documents of a cursor.
func (a asker) List(_ context.Context, database string, command bson.D) ([]bson.Raw, error) {
	return a.gateway.TryAll(a.request(database, command))
}

// asker sends on the connection of the current db.
func (sh *Helpers) asker() asker {
	return asker{sh.s.Gateway, sh.current().Sibling("admin"), sh.config()}
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
	return l.Read(s.JS.Context(), asker{s.Gateway, d.Sibling("admin"), config})
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
