package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// ReplaceCollection gives an unsharded collection new contents, all or nothing.
// It keeps its indexes and options, and is made when it is missing.
func (rq *Request) ReplaceCollection(ns string, contents []bson.Raw) error {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	if err := rq.CreateDatabase(db, ""); err != nil {
		return err
	}
	local := rq.c.collections.localPrimary(ns, nil)
	docs := newDocs(ns)
	for _, spec := range local.docs.Indexes() {
		if err := docs.CreateIndex(spec); err != nil {
			return err
		}
	}
	for _, doc := range contents {
		if doc, err = store.PrepareInsert(doc, rq.c.NewObjectID); err != nil {
			return err
		}
		if _, err := docs.Insert(doc); err != nil {
			return err
		}
	}
	local.docs = docs
	rq.c.Tick()
	return nil
}
