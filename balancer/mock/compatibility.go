package mock

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// The document of the feature compatibility version, which the config servers have since
// 3.4, and a mongos shows.
const (
	compatibilityIn = "admin.system.version"
	compatibilityID = "featureCompatibilityVersion"
)

func (cfg *ConfigDB) buildCompatibility() error {
	if !cfg.release.AtLeast(catalog.Release34) {
		return nil
	}
	parts := strings.SplitN(versions[cfg.release].text, ".", 3)
	return cfg.setCompatibility(bson.D{{Key: "version", Value: parts[0] + "." + parts[1]}})
}

func (cfg *ConfigDB) setCompatibility(fields bson.D) error {
	doc, err := bson.Marshal(append(bson.D{{Key: "_id", Value: compatibilityID}}, fields...))
	if err != nil {
		return err
	}
	coll := cfg.data(compatibilityIn)
	if record, _, found := coll.ByID(textValue(compatibilityID)); found {
		return coll.Update(record, doc)
	}
	_, err = coll.Insert(doc)
	return err
}

// Compatibility returns the document of the feature compatibility version; nil before 3.4.
func (cp *ClusterParameters) Compatibility() bson.Raw {
	_, doc, _ := cp.config.data(compatibilityIn).ByID(textValue(compatibilityID))
	return doc
}

// SetCompatibilityVersion changes the feature compatibility version, at once. It refuses
// what is not a version, and those that the mock can't be.
func (cp *ClusterParameters) SetCompatibilityVersion(version string) error {
	if err := cp.BeginCompatibilityChange(version); err != nil {
		return err
	}
	cp.ids.Tick()
	return cp.config.setCompatibility(bson.D{{Key: "version", Value: version}})
}

// BeginCompatibilityChange leaves the cluster between two feature compatibility versions,
// as setFeatureCompatibilityVersion does while it works, or when it fails.
func (cp *ClusterParameters) BeginCompatibilityChange(version string) error {
	own := cp.config.release.String()
	before := map[string]string{"8.0": "7.0", "7.0": "6.0", "6.0": "5.0", "5.0": "4.4"}[own]
	switch version {
	case own, before:
	case "7.3":
		return mongoerr.New(mongoerr.NotImplemented, "the mock has no compatibility version %s", version)
	default:
		return mongoerr.New(mongoerr.BadValue, "Invalid feature compatibility version value '%s'; expected '7.0' or '7.3' "+
			"or '8.0'.", version)
	}
	is, _ := cp.Compatibility().Lookup("version").StringValueOK()
	if is == version {
		return nil
	}
	fields := bson.D{{Key: "version", Value: is}, {Key: "targetVersion", Value: version}}
	if version == before {
		fields = bson.D{{Key: "version", Value: before}, {Key: "targetVersion", Value: before},
			{Key: "previousVersion", Value: own}}
	}
	cp.ids.Tick()
	return cp.config.setCompatibility(fields)
}
