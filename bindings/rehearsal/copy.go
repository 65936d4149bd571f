package rehearsal

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/rawdoc"
)

const (
	// maxDocuments and maxBytes limit the size of a collection whose documents are copied.
	maxDocuments = 1000
	maxBytes     = 16 << 20
)

// copyNeededData copies data to the mock that a command needs and that the metadata does not include:
// unsharded collections, indexes, users, and the documents of small collections.
func (m *clusterMock) copyNeededData(ctx context.Context, from *source, req wire.Request) {
	m.copyUsers(ctx, from, req)
	if req.Command == "dropDatabase" {
		m.markDropped(req.Database)
		return
	}
	for _, ns := range namespacesChangedBy(req) {
		database, name, found := strings.Cut(ns, ".")
		if !found || catalog.IsSystemDatabase(database) {
			continue
		}
		first, inDatabase := m.markChanged(ns)
		if inDatabase {
			m.copyDatabase(ctx, from, database)
		}
		if first && m.exists(ns) {
			m.copyContents(ctx, from, database, name)
		}
	}
}

// copyDatabase creates the missing collections of a database.
func (m *clusterMock) copyDatabase(ctx context.Context, from *source, database string) {
	list, err := from.listAll(ctx, database, bson.D{{Key: "listCollections", Value: 1}})
	if err != nil {
		m.addNote(database, "its collections can't be listed: %v", err)
		return
	}
	for _, c := range list {
		name := rawdoc.Text(c, "name")
		m.noteExisting(database + "." + name)
		if strings.HasPrefix(name, "system.") || m.snapshot.Collection(database+"."+name) != nil {
			continue
		}
		options, _ := c.Lookup("options").DocumentOK()
		command := bson.D{{Key: "create", Value: name}}
		elems, _ := options.Elements()
		for _, e := range elems {
			command = append(command, bson.E{Key: e.Key(), Value: e.Value()})
		}
		if reply := m.run(ctx, database, command); isFailure(reply) {
			m.addNote(database+"."+name, "can't be made on the mock: %s", rawdoc.Text(reply, "errmsg"))
		}
	}
}

// copyContents copies the indexes and documents of an existing collection. It must not be called for a
// missing collection: listIndexes would make a router create the database.
func (m *clusterMock) copyContents(ctx context.Context, from *source, database, name string) {
	ns := database + "." + name
	indexes, err := from.listAll(ctx, database, bson.D{{Key: "listIndexes", Value: name}})
	if err != nil { // a view
		return
	}
	indexes = slices.DeleteFunc(indexes, func(i bson.Raw) bool { return rawdoc.Text(i, "name") == "_id_" })
	if len(indexes) > 0 {
		command := bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: indexes}}
		if reply := m.run(ctx, database, command); isFailure(reply) {
			m.addNote(ns, "its indexes can't be made on the mock: %s", rawdoc.Text(reply, "errmsg"))
		}
	}
	if c := m.snapshot.Collection(ns); c != nil && !c.Unsplittable {
		for _, data := range c.Sizes {
			if data.Documents > 0 {
				m.addNote(ns, "the rehearsal counts its documents, but can't read or change them: queries for them "+
					"find none from here on")
				return
			}
		}
	}
	documents, complete, err := from.listSmall(ctx, database, name)
	switch {
	case err != nil:
		m.addNote(ns, "its documents can't be read: %v", err)
	case !complete:
		m.addNote(ns, "it is too large for the rehearsal: queries for its documents find none from here on")
	case len(documents) > 0:
		command := bson.D{{Key: "insert", Value: name}, {Key: "documents", Value: documents}}
		if reply := m.run(ctx, database, command); isFailure(reply) {
			m.addNote(ns, "its documents can't be brought into the rehearsal: %s", rawdoc.Text(reply, "errmsg"))
		}
	}
}

// copyUsers copies the roles and the users of a database, for commands about them.
func (m *clusterMock) copyUsers(ctx context.Context, from *source, req wire.Request) {
	if !strings.Contains(req.Command, "User") && !strings.Contains(req.Command, "Role") &&
		!slices.Contains(userListCommands, req.Command) || !m.claimUserCopy(req.Database) {
		return
	}
	of := func(command, field string, make func(doc bson.Raw) bson.D) (read bool) {
		reply, err := from.client.Database(req.Database).RunCommand(ctx, bson.D{{Key: command, Value: 1},
			{Key: "showPrivileges", Value: command == "rolesInfo"}}).Raw()
		if err != nil {
			m.addNote(req.Database, "its users and roles are not in the rehearsal: %v", err)
			return false
		}
		for _, doc := range catalog.Documents(reply.Lookup(field)) {
			if reply := m.run(ctx, req.Database, make(doc)); isFailure(reply) {
				m.addNote(req.Database, "%s", rawdoc.Text(reply, "errmsg"))
			}
		}
		return true
	}
	_ = of("rolesInfo", "roles", func(doc bson.Raw) bson.D {
		return bson.D{{Key: "createRole", Value: rawdoc.Text(doc, "role")},
			{Key: "privileges", Value: doc.Lookup("privileges")}, {Key: "roles", Value: bson.A{}}}
	}) && of("rolesInfo", "roles", func(doc bson.Raw) bson.D { // roles may contain each other
		return bson.D{{Key: "updateRole", Value: rawdoc.Text(doc, "role")}, {Key: "roles", Value: doc.Lookup("roles")}}
	}) && of("usersInfo", "users", func(doc bson.Raw) bson.D {
		return bson.D{{Key: "createUser", Value: rawdoc.Text(doc, "user")}, {Key: "pwd", Value: rand.Text()},
			{Key: "roles", Value: doc.Lookup("roles")}}
	})
}

func isFailure(reply bson.Raw) bool {
	ok, _ := reply.Lookup("ok").AsFloat64OK()
	return ok != 1
}

// listSmall returns the documents of a collection; complete is false, and the rest is not read, if it has more than
// maxDocuments or maxBytes.
func (s *source) listSmall(ctx context.Context, database, name string) (docs []bson.Raw, complete bool, err error) {
	cursor, err := s.client.Database(database).RunCommandCursor(ctx,
		bson.D{{Key: "find", Value: name}, {Key: "limit", Value: maxDocuments + 1}})
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
	for bytes := 0; cursor.Next(ctx); docs = append(docs, slices.Clone(cursor.Current)) {
		if bytes += len(cursor.Current); len(docs) == maxDocuments || bytes > maxBytes {
			return nil, false, nil
		}
	}
	return docs, true, cursor.Err()
}

// listAll returns all documents of a command whose reply is a cursor.
func (s *source) listAll(ctx context.Context, database string, command bson.D) (docs []bson.Raw, err error) {
	cursor, err := s.client.Database(database).RunCommandCursor(ctx, command)
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &docs)
	return docs, err
}
