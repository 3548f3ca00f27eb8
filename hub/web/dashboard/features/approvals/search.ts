export const approvalFilters = ['pending', 'approved', 'rejected', 'expired', 'all'] as const;
export type ApprovalFilter = (typeof approvalFilters)[number];

/** The part of the address that selects approvals. Without it, the pending ones are shown. */
export interface ApprovalsSearch {
  status?: ApprovalFilter;
}

export function readApprovalsSearch({ status }: Record<string, unknown>): ApprovalsSearch {
  const filter = approvalFilters.find((known) => known === status);
  return filter === undefined ? {} : { status: filter };
}
