package args

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// CollationFields are the fields of a collation, as servers declare them.
func CollationFields() []Field {
	return []Field{
		Required("locale", String), Optional("caseLevel", SafeBool),
		Optional("caseFirst", String).OneOf("upper", "lower", "off"),
		Optional("strength", SafeInt).AtLeast(0), Optional("numericOrdering", SafeBool),
		Optional("alternate", String).OneOf("non-ignorable", "shifted"),
		Optional("maxVariable", String).OneOf("punct", "space"), Optional("normalization", SafeBool),
		Optional("backwards", SafeBool), Optional("version", String),
	}
}

// locales are the languages that servers have collations of (MongoDB's manual).
var locales = " simple af sq am ar hy as az bn be bs my bg ca chr zh hr cs da nl dz en eo et ee fo fil fi fr gl ka " +
	"de el gu ha haw he hi hu is ig smn id ga it ja kl kn kk km kok ko ky lkt lo lv ln lt dsb lb mk ms ml mt mr mn ne " +
	"se nb nn or om ps fa pl pt pa ro ru sr si sk sl es sw sv ta te th bo to tr uk hsb ur ug vi wae cy yi yo zu "

// simpleLocale is the name of the order by bytes.
const simpleLocale = "simple"

// ReadCollation checks a collation and returns it; nil is the simple one, and so are an empty document
// and none. Place is what messages say before fields.
func ReadCollation(place string, doc bson.Raw) (bson.Raw, error) {
	if len(doc) <= emptyDocument {
		return nil, nil
	}
	return RequireCollation(place, doc)
}

// RequireCollation is ReadCollation where an empty document lacks its locale.
func RequireCollation(place string, doc bson.Raw) (bson.Raw, error) {
	if err := Check(place, CollationFields(), doc); err != nil {
		return nil, err
	}
	if err := checkLocale(doc); err != nil || Text(doc.Lookup("locale")) == simpleLocale {
		return nil, err
	}
	return doc, nil
}

// checkLocale refuses unknown languages, and options of the simple collation.
func checkLocale(collation bson.Raw) error {
	locale := Text(collation.Lookup("locale"))
	language, _, _ := strings.Cut(locale, "_")
	language, _, _ = strings.Cut(language, "@")
	switch {
	case locale == "":
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' cannot be the empty string in: %s", collation)
	case strings.ContainsRune(language, ' ') || !strings.Contains(locales, " "+language+" "):
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' is invalid in: %s", collation)
	case locale == simpleLocale && Length(bson.RawArray(collation)) > 1:
		return mongoerr.New(mongoerr.FailedToParse, "If locale=simple, no other fields should be present in: %s", collation)
	}
	return nil
}

// emptyDocument is the length of a document without fields.
const emptyDocument = 5
