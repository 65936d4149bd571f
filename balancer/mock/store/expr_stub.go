package store

var (
	arithmeticFunctions, comparisonFunctions, stringFunctions, arrayFunctions, setFunctions map[string]function
	objectFunctions, typeFunctions, conversionFunctions, bitFunctions                       map[string]function
	namedStringFunctions, namedArrayFunctions, namedConversionFunctions, namedDateFunctions map[string]namedFunction
)
