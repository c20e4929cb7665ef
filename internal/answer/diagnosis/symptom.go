package diagnosis

import (
	"fmt"
	"slices"

	"weir/internal/cause"
	"weir/internal/finding"
)

// A meaning says what an error in a log tells, and what separates its causes.
type meaning struct {
	test func(*event) bool
	text cause.Text
}

// meanings of the errors that logs show most. Status numbers are those of
// ibv_wc_status.
var meanings = [...]meaning{
	{func(e *event) bool { return e.status == statusRetry }, say(
		"Status 12: the peer did not acknowledge in all retries. It has many causes: wrong or moved GID, ports of two rails, several NICs in one subnet, a link that went down, a filter on UDP 4791, loss. When it happens (at once or after hours) and between which pairs separates them. A longer NCCL_IB_TIMEOUT repairs none.",
		"状态 12：对端在所有重试内均未应答。原因很多：GID 错误或移位、跨 rail、同子网多网卡、链路中断、UDP 4791 被过滤、丢包。发生的时刻（立即或数小时后）与出错的节点对可区分它们。调大 NCCL_IB_TIMEOUT 不能修复任何一种。")},
	{func(e *event) bool {
		return e.modifyQP() && (e.errno == errnoTimedOut || e.errno == errnoUnreachable || e.errno == errnoNoRoute)
	}, say(
		"The queue pair could not be connected: the address of the peer was not resolved or has no route from the GID in use. Look at GIDs and pairs before anything else.",
		"队列对无法连接：从所用 GID 无法解析对端地址或没有路由。应首先检查 GID 与配对。")},
	{(*event).noEntry, say(
		"The queue pair could not be connected: the GID asked for does not exist here, or the two ends do not fit.",
		"队列对无法连接：所用的 GID 在此不存在，或两端不匹配。")},
	{func(e *event) bool { return e.status == statusLocalProtection }, say(
		"Status 4: the card could not use the memory that it was given. With GPU buffers that is a matter of the host (ACS, IOMMU, peer memory), not of the network.",
		"状态 4：网卡无法访问给定内存。对于 GPU 缓冲区，这是主机问题（ACS、IOMMU、peer memory），与网络无关。")},
	{func(e *event) bool { return e.status == statusRNR }, say(
		"Status 13: the receiver posted no buffers in all retries.", "状态 13：接收端在所有重试内都未提供缓冲区。")},
	{func(e *event) bool { return e.status == statusFlushed }, say(
		"Status 5: the queue pair was already broken; the cause is in an earlier error.", "状态 5：队列对此前已出错；原因在更早的错误中。")},
	{(*event).noMemory, say(
		"Memory could not be pinned or a queue could not be made.", "无法锁定内存或创建队列。")},
	{(*event).portDown, say(
		"The port reported an error: the link went down under the job.", "端口报告错误：作业运行中链路中断。")},
}

// symptoms tells what the errors in the logs mean, each once.
func symptoms(x *index, l cause.Language) []finding.Evidence {
	var out []finding.Evidence
	for _, m := range meanings {
		events := x.any(m.test)
		if len(events) == 0 {
			continue
		}
		e := events[0].quote()
		e.Text = m.text.In(l)
		if len(events) > 1 {
			e.Text += fmt.Sprintf(" (x%d)", len(events))
		}
		out = append(out, e)
	}
	return slices.Clip(out)
}
