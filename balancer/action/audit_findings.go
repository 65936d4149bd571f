package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/placement"
)

// maxNamedDocuments is the maximum number of documents that a finding names. maxComparedDocuments is the maximum
// number of lone documents that are compared with the unique indexes of other shards.
const (
	maxNamedDocuments    = 20
	maxComparedDocuments = 1000
)

// documentFindings contains the findings about one collection's documents, and their export files.
type documentFindings struct {
	audit    *auditRun
	coll     *placement.Collection
	list     []*foundDocuments
	compared int
}

// foundDocuments is a finding about documents of one kind on one shard.
type foundDocuments struct {
	kind            placement.FindingKind
	shard           catalog.ShardID // empty for documents on several shards
	pendingDeletion bool
	count           int64
	shards          []catalog.ShardID
	examples        []placement.Document
	ids             []bson.RawValue // of the named documents
	firstDocs       []bson.Raw      // the first documents, complete
	file            *os.File
	path            string
	firstCopies     []bson.Raw // for DuplicateID: the copies of the first document
}

func newDocumentFindings(a *auditRun, c *placement.Collection) *documentFindings {
	return &documentFindings{audit: a, coll: c}
}

func (df *documentFindings) group(kind placement.FindingKind, shard catalog.ShardID,
	pendingDeletion bool) *foundDocuments {
	i := slices.IndexFunc(df.list, func(f *foundDocuments) bool {
		return f.kind == kind && f.shard == shard && f.pendingDeletion == pendingDeletion
	})
	if i < 0 {
		i = len(df.list)
		df.list = append(df.list, &foundDocuments{kind: kind, shard: shard, pendingDeletion: pendingDeletion})
	}
	return df.list[i]
}

// kindOf maps the state of a copy to the kind of its finding.
var kindOf = map[placement.CopyState]placement.FindingKind{
	placement.Stray: placement.Orphan, placement.LoneStray: placement.Lone, placement.LoneAwaitingDeletion: placement.Lone,
	placement.NoChunk: placement.Unplaced,
}

// addSuspect adds a document to the findings that match the states of its copies.
func (df *documentFindings) addSuspect(ctx context.Context, d *documentAudit, s *suspectDocument) error {
	for i, c := range s.copies {
		state := s.verdict.States[i]
		kind, found := kindOf[state]
		if !found || kind == placement.Orphan && !d.summary.Sharded {
			continue // the whole collection is misplaced on the shard
		}
		f := df.group(kind, c.Shard, state == placement.LoneAwaitingDeletion)
		f.count++
		if err := df.addDocument(ctx, f, c); err != nil {
			return err
		}
		if kind == placement.Lone && df.compared < maxComparedDocuments {
			df.compared++
			if err := d.findConflicts(ctx, c); err != nil {
				return err
			}
		}
	}
	if s.verdict.OwnedCount() < 2 {
		return nil
	}
	f := df.group(placement.DuplicateID, "", false)
	for i, c := range s.copies {
		if s.verdict.States[i] != placement.Owned {
			continue
		}
		if f.count == 0 {
			f.firstCopies = append(f.firstCopies, c.Doc)
		}
		if err := df.addDocument(ctx, f, c); err != nil {
			return err
		}
	}
	f.count++
	return nil
}

// addDocument adds a document to the named documents of a finding, and writes it to the finding's file.
func (df *documentFindings) addDocument(ctx context.Context, f *foundDocuments, c placement.Copy) error {
	id := c.Doc.Lookup("_id")
	if !slices.Contains(f.shards, c.Shard) {
		f.shards = append(f.shards, c.Shard)
	}
	if len(f.examples) < maxNamedDocuments {
		named := placement.Document{ID: extJSON(id), Shard: c.Shard}
		if len(c.Doc) > 0 {
			if text, err := bson.MarshalExtJSON(c.Doc, true, false); err == nil {
				named.Key = text
			}
		}
		f.examples, f.ids = append(f.examples, named), append(f.ids, id)
	}
	if df.audit.ExportDir == "" && (f.kind != placement.Lone || len(f.firstDocs) > 0) {
		return nil
	}
	shard := df.audit.shards.ReadableShard(c.Shard)
	docs, err := df.audit.findByID(ctx, shard, df.coll.Namespace, id)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if len(f.firstDocs) == 0 {
			f.firstDocs = append(f.firstDocs, doc)
		}
		if err := df.export(f, doc); err != nil {
			return err
		}
	}
	return nil
}

// export appends a document to the file of a finding, as a line of canonical extended JSON.
func (df *documentFindings) export(f *foundDocuments, doc bson.Raw) (err error) {
	if df.audit.ExportDir == "" {
		return nil
	}
	if f.file == nil {
		parts := []string{df.coll.Namespace, string(f.kind)}
		if f.pendingDeletion {
			parts = append(parts, "waiting")
		}
		if f.shard != "" {
			parts = append(parts, string(f.shard))
		}
		name := filepath.Join(df.audit.ExportDir, strings.Map(fileNameRune, strings.Join(parts, ".")))
		if f.file, f.path, err = df.createFile(name); err != nil {
			return fmt.Errorf("exporting documents: %w", err)
		}
	}
	text, err := bson.MarshalExtJSON(doc, true, false)
	if err != nil {
		return err
	}
	_, err = f.file.Write(append(text, '\n'))
	return err
}

// createFile creates a new file. A resumed run keeps the files of the earlier run, whose documents may
// have been repaired since, and numbers its own files.
func (df *documentFindings) createFile(name string) (file *os.File, path string, err error) {
	path = name + ".json"
	for n := 2; ; n++ {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) || !df.audit.checkpoint.resume {
			return file, path, err
		}
		path = fmt.Sprintf("%s.%d.json", name, n)
	}
}

// fileNameRune replaces characters that are invalid in file names on some systems.
func fileNameRune(r rune) rune {
	if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
		return '_'
	}
	return r
}

// finish closes the files, and adds the findings to the result.
func (df *documentFindings) finish() (err error) {
	for _, f := range df.list {
		if f.file != nil {
			err = errors.Join(err, f.file.Sync(), f.file.Close())
		}
		slices.Sort(f.shards)
		df.audit.addFindings(placement.Finding{
			Kind: f.kind, Namespace: df.coll.Namespace, Shards: f.shards, Count: f.count, Text: f.text(),
			Documents: f.examples, RepairCommands: df.fixCommands(f), File: f.path,
		})
	}
	df.list = nil
	return err
}

func (f *foundDocuments) text() string {
	n, on := humanize.Count(f.count, "document"), string(f.shard)
	be := "are"
	if f.count == 1 {
		be = "is"
	}
	switch {
	case f.kind == placement.Lone && f.pendingDeletion:
		return fmt.Sprintf("%s %s on %s, which does not own the key, and nowhere else: "+
			"a pending range deletion will delete it", n, be, on)
	case f.kind == placement.Lone:
		return fmt.Sprintf("%s %s on %s, which does not own the key, and nowhere else", n, be, on)
	case f.kind == placement.Orphan:
		return fmt.Sprintf("%s %s left on %s, which does not own the key: no range deletion is pending", n, be, on)
	case f.kind == placement.Unplaced:
		return fmt.Sprintf("%s on %s: no chunk has the key", n, on)
	}
	return fmt.Sprintf("%s on several shards with different shard keys", humanize.Count(f.count, "_id"))
}

func (df *documentFindings) fixCommands(f *foundDocuments) []string {
	switch f.kind {
	case placement.Lone:
		lone := f.firstDocs
		if f.count > 1 {
			lone = nil
		}
		return placement.CommandsForLone(df.coll.Namespace, lone, f.path)
	case placement.Orphan:
		host := ""
		if shard := df.audit.shards.ReadableShard(f.shard); shard != nil {
			host = shard.Host
		}
		ids := f.ids
		if f.count > int64(len(ids)) && f.path == "" {
			return []string{"// run the audit again with --export DIR: it saves the documents there and " +
				"shows how to delete them"}
		}
		return placement.CommandsForOrphans(df.coll, f.shard, host, ids, f.path)
	case placement.Unplaced:
		return placement.CommandsForUnplaced()
	}
	return placement.CommandsForDuplicateID(df.coll, f.firstCopies)
}
