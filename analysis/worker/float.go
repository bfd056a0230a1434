package worker

import (
	"faultline/analysis/ascii"
	"strconv"
)

// float is strconv.ParseFloat, faster for what logs print by the million: a few digits with a point among them and perhaps
// an exponent. Fifteen digits and a power of ten up to 22 are exact in a float64, so one operation on them rounds right.
func float(b []byte) (float64, error) {
	i, negative := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i, negative = 1, b[0] == '-'
	}
	var mantissa uint64
	digits, exponent, point := 0, 0, false
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case ascii.Digit(c):
			mantissa = mantissa*10 + uint64(c-'0')
			if digits++; point {
				exponent--
			}
			continue
		case c == '.' && !point:
			point = true
			continue
		}
		break
	}
	if i+2 < len(b) && b[i]|0x20 == 'e' && (b[i+1] == '-' || b[i+1] == '+') && digits > 0 {
		e, down := 0, b[i+1] == '-'
		for i += 2; i < len(b) && ascii.Digit(b[i]) && e < 100; i++ {
			e = e*10 + int(b[i]-'0')
		}
		if down {
			e = -e
		}
		exponent += e
	}
	if i < len(b) || digits == 0 || digits > 15 || exponent < -22 || exponent > 22 {
		return strconv.ParseFloat(string(b), 64)
	}
	f := float64(mantissa)
	if exponent < 0 {
		f /= tens[-exponent]
	} else {
		f *= tens[exponent]
	}
	if negative {
		f = -f
	}
	return f, nil
}

var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}
