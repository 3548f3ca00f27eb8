import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';

/** Asserts that steps can run. @throws AppError with the path of each problem. */
export type StepValidator = (steps: readonly Step[], entitlements: Record<Entitlement, boolean>) => void;

/** The stored hash of a webhook token, by which its workflow is found. */
export const webhookTokenHash = (token: string) => createHash('sha256').update(token).digest();

/**
 * Asserts that a workflow can start. This is checked at each start, because entitlements may have changed since the
 * workflow was saved.
 */
export function assertStartable(
  workflow: { id: string; active: boolean; steps: readonly Step[] },
  entitlements: Record<Entitlement, boolean>,
  validateSteps: StepValidator,
): void {
  if (!entitlements.automations)
    throw new AppError('product_not_entitled', 'This workspace is not entitled to automations.');
  if (!workflow.active)
    throw new AppError(
      'workflow_inactive',
      `The workflow ${workflow.id} is not active. Activate it with PATCH and {"active": true}.`,
    );
  validateSteps(workflow.steps, entitlements);
}
