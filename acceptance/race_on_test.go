//go:build race

package acceptance

// raced: under the race detector a diagnosis takes ten times as long. Its goroutines are the same in every case, so few are enough.
const raced = true

// goroutines are the tests that the race detector sees: the engine with every number of workers and a grid on every core, storage and each
// kind of evidence among it. The others run the same goroutines on other bytes. -run chooses others.
const goroutines = "SameBytes|GridIsDiagnosed|StorageIsJudged|DamagedInput|FlightRecorders|NCCLLogs|StacksName|TracesName|PortsAndCounters|KernelLogs|RASNames"
