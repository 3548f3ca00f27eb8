import type { Phone } from '../phone.ts';
import type { PhoneState } from '../state.ts';

/** What every part of the page is given. */
export interface PartProps {
  phone: Phone;
  state: PhoneState;
}
