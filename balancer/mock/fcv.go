package mock

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mongoerr"
)

// The document with the feature compatibility version. Config servers have it since 3.4, and mongos
// returns it.
const (
	fcvNamespace = "admin.system.version"
	fcvID        = "featureCompatibilityVersion"
)

// olderFCVs are the older feature compatibility versions that servers of a release line accept: the last
// long-term line and the previous line.
var olderFCVs = map[string][]string{
	"3.4": {"3.2"}, "3.6": {"3.4"}, "4.0": {"3.6"}, "4.2": {"4.0"}, "4.4": {"4.2"},
	"5.0": {"4.4"}, "6.0": {"5.0"}, "7.0": {"6.0"}, "8.0": {"7.0", "7.3"}, "8.1": {"8.0"}, "8.2": {"8.0", "8.1"},
	"8.3": {"8.0", "8.2"}, "9.0": {"8.0", "8.3"},
}

// fcvRecord is the stored feature compatibility version.
type fcvRecord struct {
	collection func() *store.Collection // admin.system.version
	// cached is the version for callers without the lock; nil before it is read.
	cached atomic.Pointer[string]
}

// create writes the version of a new cluster.
func (f *fcvRecord) create(r catalog.Release) error {
	if !r.FCVAtLeast(catalog.Release34) {
		return nil
	}
	return f.set(bson.D{{Key: "version", Value: r.Line().String()}})
}

func (f *fcvRecord) set(fields bson.D) error {
	doc, err := bson.Marshal(append(bson.D{{Key: "_id", Value: fcvID}}, fields...))
	if err != nil {
		return err
	}
	defer f.cache()
	if record, _, found := f.collection().FindByID(textValue(fcvID)); found {
		return f.collection().Update(record, doc)
	}
	_, err = f.collection().Insert(doc)
	return err
}

func (f *fcvRecord) cache() {
	version := f.version()
	f.cached.Store(&version)
}

// document returns the stored document; nil before 3.4.
func (f *fcvRecord) document() bson.Raw {
	_, doc, _ := f.collection().FindByID(textValue(fcvID))
	return doc
}

// version returns the effective version; "" before 3.4.
func (f *fcvRecord) version() string {
	version, _ := f.document().Lookup("version").StringValueOK()
	return version
}

// target returns the version that a change in progress leads to; "" without one.
func (f *fcvRecord) target() string {
	target, _ := f.document().Lookup("targetVersion").StringValueOK()
	return target
}

// applyTo returns the release with the cached version, if there is one. It needs no lock.
func (f *fcvRecord) applyTo(r catalog.Release) catalog.Release {
	if version := f.cached.Load(); version != nil {
		return r.WithFCV(*version)
	}
	return r
}

// Language returns the query language of a node on which a release runs. It needs no lock.
func (c *Cluster) Language(r catalog.Release) expr.Language {
	return LanguageOf(c.config.fcv.applyTo(r))
}

// CompatibilityVersion returns the feature compatibility version as it is now.
func (e engineCluster) CompatibilityVersion(context.Context) string { return e.b.config.fcv.version() }

// FCVDocument returns the document of the feature compatibility version; nil before 3.4.
func (cp *ClusterParameters) FCVDocument() bson.Raw { return cp.config.fcv.document() }

// SetFCV changes the feature compatibility version at once. It rejects invalid versions and versions
// that the mock does not support.
func (cp *ClusterParameters) SetFCV(version string) error {
	if err := cp.SetTransitionalFCV(version); err != nil {
		return err
	}
	return cp.finishFCVChange(version)
}

func (cp *ClusterParameters) finishFCVChange(version string) error {
	cp.fcvChange = nil
	cp.ids.Tick()
	return cp.config.fcv.set(bson.D{{Key: "version", Value: version}})
}

// SetTransitionalFCV leaves the cluster between two feature compatibility versions. A server's
// setFeatureCompatibilityVersion has this state while it is running and after it fails.
func (cp *ClusterParameters) SetTransitionalFCV(version string) error {
	if err := cp.checkMembersSupport(version); err != nil {
		return err
	}
	own := cp.installed.configRelease().Line().String()
	older := olderFCVs[own]
	switch {
	case version == own, slices.Contains(older, version) && version != "7.3":
	case version == "7.3" && own == "8.0":
		return mongoerr.New(mongoerr.NotImplemented,
			"the mock does not support the feature compatibility version %s", version)
	default:
		return mongoerr.New(mongoerr.BadValue, "Invalid feature compatibility version value '%s'; expected '%s'.", version,
			strings.Join(append(slices.Clone(older), own), "' or '"))
	}
	old := cp.config.fcv.version()
	if old == version {
		return nil
	}
	fields := bson.D{{Key: "version", Value: old}, {Key: "targetVersion", Value: version}}
	if version != own {
		fields = bson.D{{Key: "version", Value: version}, {Key: "targetVersion", Value: version},
			{Key: "previousVersion", Value: own}}
	}
	cp.ids.Tick()
	cp.fcvChange = nil // cancels an earlier change
	return cp.config.fcv.set(fields)
}

// checkMembersSupport rejects a version that a member does not support.
func (cp *ClusterParameters) checkMembersSupport(version string) error {
	if cp.installed.byHost.Load() == nil {
		return nil
	}
	for _, m := range cp.installed.addresses.Members() {
		r := cp.installed.ReleaseAt(m.Host)
		if line := r.Line().String(); version != line && !slices.Contains(olderFCVs[line], version) {
			return mongoerr.New(mongoerr.BadValue, "Invalid feature compatibility version value '%s': %s runs %s", version,
				m.Host, fullVersion(r))
		}
	}
	return nil
}
