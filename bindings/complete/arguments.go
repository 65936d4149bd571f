package complete

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// calledFunction returns the help of the function that a call names, and the object that the function
// is called on.
func (s *Completer) calledFunction(callee string) (help script.Help, on resolved, ok bool) {
	dot := strings.LastIndexByte(callee, '.')
	name := strings.TrimSpace(callee[dot+1:])
	on = resolved{value: s.JS.Runtime.GlobalObject()}
	if dot >= 0 {
		on = s.resolve(callee[:dot])
	}
	f, _ := s.member(on, name).value.(*goja.Object)
	if f == nil {
		return script.Help{}, resolved{}, false
	}
	help, ok = s.JS.Help.Lookup(f)
	return help, on, ok
}

// argumentValues returns the possible values of a string argument, by the name of the parameter.
func (s *Completer) argumentValues(t *inputContext) []string {
	callee, i, within, ok := t.call()
	if !ok {
		return nil
	}
	help, on, ok := s.calledFunction(callee)
	if !ok {
		return nil
	}
	parameter := help.Parameter(i)
	if len(within) > 0 {
		in := within[len(within)-1]
		if in.bracket == '{' && in.key == "" || in.bracket == '[' && help.Method() != "dropIndexes" {
			return nil
		}
		if in.bracket == '{' {
			parameter = in.key
		}
	}
	return s.namesFor(parameter, help, on, t.typed())
}

// namesFor returns the possible values for a parameter, or a field of a command, by its name.
func (s *Completer) namesFor(parameter string, help script.Help, on resolved, typed string) []string {
	if names, ok := s.localNames(parameter, help, typed); ok {
		return names
	}
	d, collection := s.shell.NamespaceOf(on.value)
	if d == nil {
		d = s.shell.Current()
	}
	if d == nil {
		return nil
	}
	switch parameter {
	case "command":
		return s.commandNames(help, on)
	case "ns", "collection", "namespace", "nsOrMB":
		every := strings.HasPrefix(help.Method(), "shard") || help.Method() == "moveCollection" || parameter == "namespace"
		return s.namespaces(d.Conn, typed, every)
	case "shard", "toShard", "to", "primaryShard":
		return s.configIDs(d.Conn, "shards")
	case "zone":
		return s.zoneNames(d.Conn)
	case "database", "db":
		return s.databaseNames(d.Conn)
	case "source", "from":
		return s.collectionNames(d.Conn, d.Name)
	case "index", "indexes", "hint":
		if collection != "" {
			return s.indexNames(d, collection)
		}
	case "name":
		switch help.Method() {
		case "getCollection":
			return s.collectionNames(d.Conn, d.Name)
		case "getSiblingDB", "getSisterDB", "getDB", "getDatabase":
			return s.databaseNames(d.Conn)
		}
	}
	return nil
}

// localNames returns the names that are known without a request to a server.
func (s *Completer) localNames(parameter string, help script.Help, typed string) ([]string, bool) {
	switch {
	case parameter == "key" && help.Class == "Config":
		return s.shell.SettingNames(), true
	case parameter == "path" || parameter == "directory":
		return s.fileNames(typed, parameter == "directory", help.Method() == "load"), true
	}
	return nil, false
}

// fileNames returns the files in the typed directory and, if shipped, the shipped scripts.
func (s *Completer) fileNames(typed string, onlyDirectories, shipped bool) []string {
	var names []string
	if shipped && s.scripts != nil {
		if scripts, err := fs.Glob(s.scripts, "*.js"); err == nil {
			for _, n := range scripts {
				names = append(names, script.ShippedPrefix+n)
			}
		}
	}
	directory, start := filepath.Split(typed)
	where := cmp.Or(directory, ".")
	entries, err := os.ReadDir(where)
	if err != nil {
		return names
	}
	for _, e := range entries {
		name := e.Name()
		info, err := os.Stat(filepath.Join(where, name))
		if err != nil || strings.HasPrefix(name, ".") && !strings.HasPrefix(start, ".") {
			continue
		}
		switch {
		case info.IsDir():
			names = append(names, directory+name+string(filepath.Separator))
		case !onlyDirectories:
			names = append(names, directory+name)
		}
	}
	return names
}

// operatorNames returns the stages and operators that can be a key at the cursor.
func (s *Completer) operatorNames(t *inputContext) []string {
	callee, i, within, ok := t.call()
	if !ok || len(within) == 0 || within[len(within)-1].bracket != '{' {
		return nil
	}
	help, _, ok := s.calledFunction(callee)
	if !ok {
		return nil
	}
	depth := 0
	stage := ""
	for _, in := range within {
		if in.bracket != '{' {
			continue
		}
		if depth++; depth == 1 {
			stage = in.key
		}
	}
	switch help.Parameter(i) {
	case "pipeline":
		return pipelineOperators(depth, stage)
	case "query", "filter":
		return queryOperators(depth)
	case "update":
		if depth == 1 {
			return strings.Fields(updateOperators)
		}
		return strings.Fields(updateModifiers)
	}
	return nil
}

func pipelineOperators(depth int, stage string) []string {
	switch {
	case depth == 1:
		return strings.Fields(stages)
	case stage == "$match":
		return queryOperators(depth - 1)
	}
	return slices.Concat(strings.Fields(accumulators), strings.Fields(expressions))
}

func queryOperators(depth int) []string {
	if depth == 1 {
		return strings.Fields(topLevelQueryOperators)
	}
	return slices.Concat(strings.Fields(topLevelQueryOperators), strings.Fields(fieldQueryOperators))
}

// The stages and operators of MongoDB 8.0.
const (
	stages = `$addFields $bucket $bucketAuto $changeStream $changeStreamSplitLargeEvent $collStats $count
		$currentOp $densify $documents $facet $fill $geoNear $graphLookup $group $indexStats $limit
		$listClusterCatalog $listLocalSessions $listSampledQueries $listSearchIndexes $listSessions $lookup
		$match $merge $out $planCacheStats $project $queryStats $redact $replaceRoot $replaceWith $sample
		$search $searchMeta $set $setWindowFields $shardedDataDistribution $skip $sort $sortByCount
		$unionWith $unset $unwind $vectorSearch`
	topLevelQueryOperators = `$and $comment $expr $jsonSchema $nor $or $sampleRate $text $where`

	fieldQueryOperators = `$all $bitsAllClear $bitsAllSet $bitsAnyClear $bitsAnySet $elemMatch $eq $exists $geoIntersects
		$geoWithin $gt $gte $in $lt $lte $mod $ne $near $nearSphere $nin $not $options $regex $size $type`
	updateOperators = `$addToSet $bit $currentDate $inc $max $min $mul $pop $pull $pullAll $push $rename $set ` +
		`$setOnInsert $unset`
	updateModifiers = `$each $position $slice $sort $eq $exists $gt $gte $in $lt $lte $ne $nin`
	accumulators    = `$accumulator $addToSet $avg $bottom $bottomN $count $first $firstN $last $lastN $max $maxN $median
		$mergeObjects $min $minN $percentile $push $stdDevPop $stdDevSamp $sum $top $topN`
	expressions = `$abs $acos $acosh $add $allElementsTrue $and $anyElementTrue $arrayElemAt $arrayToObject $asin $asinh
		$atan $atan2 $atanh $binarySize $bitAnd $bitNot $bitOr $bitXor $bsonSize $ceil $cmp $concat $concatArrays $cond
		$convert $cos $cosh $dateAdd $dateDiff $dateFromParts $dateFromString $dateSubtract $dateToParts $dateToString
		$dateTrunc $dayOfMonth $dayOfWeek $dayOfYear $degreesToRadians $divide $eq $exp $filter $floor $function $getField
		$gt $gte $hour $ifNull $in $indexOfArray $indexOfBytes $indexOfCP $isArray $isNumber $isoDayOfWeek $isoWeek
		$isoWeekYear $let $literal $ln $log $log10 $lt $lte $ltrim $map $meta $millisecond $minute $mod $month $multiply
		$ne $not $objectToArray $or $pow $radiansToDegrees $rand $range $reduce $regexFind $regexFindAll $regexMatch
		$replaceAll $replaceOne $reverseArray $round $rtrim $second $setDifference $setEquals $setField $setIntersection
		$setIsSubset $setUnion $sin $sinh $size $slice $sortArray $split $sqrt $strLenBytes $strLenCP $strcasecmp $substr
		$substrBytes $substrCP $subtract $switch $tan $tanh $toBool $toDate $toDecimal $toDouble $toHashedIndexKey $toInt
		$toLong $toLower $toObjectId $toString $toUUID $toUpper $trim $trunc $tsIncrement $tsSecond $type $unsetField $week
		$year $zip`
)
