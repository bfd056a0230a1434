package config

import "strings"

// Costs say what a GPU costs, so that losses can be given in money as well.
type Costs struct {
	GPUHour  float64 `yaml:"gpu_hour"` // 0 = not stated
	Currency string  `yaml:"currency"`
}

func (c *Config) validateCosts(bad func(path, format string, args ...any)) {
	if !(c.Costs.GPUHour >= 0 && c.Costs.GPUHour < 1e6) {
		bad("costs.gpu_hour", "%g is not a price", c.Costs.GPUHour)
	}
	if c.Costs.GPUHour > 0 && (c.Costs.Currency == "" || len(c.Costs.Currency) > 8 || strings.ContainsAny(c.Costs.Currency, " \t\n<>|`*_")) {
		bad("costs.currency", "write a currency, such as USD")
	}
}
