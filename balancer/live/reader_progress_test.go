package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// Whoever watches a read learns how far it is, up to all collections and chunks, also of a
// collection that is too large to be read with others; and can end it.
func TestProgressOfARead(t *testing.T) {
	const small, of = 40, 25_000 // of: chunks of the large one
	var list []string
	for i := range small {
		list = append(list, fmt.Sprintf(`{"ns": "x.c%02d", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "b"}]}`, i))
	}
	var chunks strings.Builder
	for i := range of - 1 {
		fmt.Fprintf(&chunks, `{"shard": "a", "max": {"k": %d}},`, i)
	}
	list = append(list, `{"ns": "x.large", "key": {"k": 1}, "chunks": [`+chunks.String()+`{"shard": "b"}]}`)
	client := clientOfMock(t, catalog.Release80, `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}},
		"collections": [`+strings.Join(list, ",")+`]}`)
	var last live.Progress
	o := live.ReaderOptions{Parts: live.Identity | live.Collections | live.Chunks, OnProgress: func(p live.Progress) {
		if p.Collections < last.Collections || p.TotalCollections != small+1 {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}}
	readBy(t, live.NewReader(client, o))
	if last.Collections != small+1 || last.Chunks != 2*small+of {
		t.Errorf("at the end: %+v", last)
	}

	ctx, cancel := context.WithCancel(t.Context())
	o.OnProgress = func(live.Progress) { cancel() }
	if _, err := live.NewReader(client, o).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that was ended: %v", err)
	}
}
