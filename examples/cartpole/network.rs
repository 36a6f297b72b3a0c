//! A small neural network with its gradient, and the Adam optimiser.

use serde::{Deserialize, Serialize};

use crate::rng::Rng;

const INPUTS: usize = 4;
/// Parameters of one hidden unit: input weights, bias, output weight.
const UNIT: usize = INPUTS + 2;

/// Four inputs, one hidden layer of tanh units, one linear output.
///
/// The parameters are one list, unit after unit, and at its end the bias of the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    parameters: Vec<f64>,
}

impl Network {
    /// A network with random input weights, whose output is zero everywhere.
    pub fn new(hidden: usize, rng: &mut Rng) -> Self {
        let mut parameters = vec![0.0; hidden * UNIT + 1];
        for unit in parameters.chunks_exact_mut(UNIT) {
            unit[..INPUTS].fill_with(|| rng.normal());
        }
        Self { parameters }
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.parameters.len()
    }

    /// The output for `input`.
    pub fn output(&self, input: [f64; INPUTS]) -> f64 {
        let units = self.parameters.chunks_exact(UNIT);
        let bias = units.remainder()[0];
        bias + units.map(|unit| unit[INPUTS + 1] * activation(unit, input)).sum::<f64>()
    }

    /// Adds `scale` times the derivative of the output by each parameter to `gradient`.
    pub fn add_gradient(&self, input: [f64; INPUTS], scale: f64, gradient: &mut [f64]) {
        let units = self.parameters.chunks_exact(UNIT);
        let mut slots = gradient.chunks_exact_mut(UNIT);
        for (unit, slot) in units.zip(&mut slots) {
            let activation = activation(unit, input);
            let inner = scale * unit[INPUTS + 1] * (1.0 - activation * activation);
            for (derivative, number) in slot.iter_mut().zip(input) {
                *derivative += inner * number;
            }
            slot[INPUTS] += inner;
            slot[INPUTS + 1] += scale * activation;
        }
        slots.into_remainder()[0] += scale;
    }
}

fn activation(unit: &[f64], input: [f64; INPUTS]) -> f64 {
    let weighted = unit.iter().zip(input).map(|(weight, number)| weight * number);
    (weighted.sum::<f64>() + unit[INPUTS]).tanh()
}

/// Adam (Kingma and Ba, 2015), with the constants of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    updates: i32,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Adam {
    const MEAN_DECAY: f64 = 0.9;
    const SQUARE_DECAY: f64 = 0.999;

    /// An optimiser for `network`.
    pub fn new(network: &Network) -> Self {
        Self { updates: 0, mean: vec![0.0; network.len()], square: vec![0.0; network.len()] }
    }

    /// Moves the parameters of `network` against `gradient`.
    pub fn descend(&mut self, network: &mut Network, gradient: &[f64], learning_rate: f64) {
        self.updates += 1;
        let mean_scale = 1.0 - Self::MEAN_DECAY.powi(self.updates);
        let square_scale = 1.0 - Self::SQUARE_DECAY.powi(self.updates);
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((parameter, slope), (mean, square)) in
            network.parameters.iter_mut().zip(gradient).zip(moments)
        {
            *mean += (1.0 - Self::MEAN_DECAY) * (slope - *mean);
            *square += (1.0 - Self::SQUARE_DECAY) * (slope * slope - *square);
            *parameter -=
                learning_rate * (*mean / mean_scale) / ((*square / square_scale).sqrt() + 1e-8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: [f64; 4] = [0.3, -1.2, 0.05, 0.7];

    fn random_network() -> Network {
        let mut rng = Rng::new(5);
        let mut network = Network::new(6, &mut rng);
        network.parameters.fill_with(|| rng.normal());
        network
    }

    #[test]
    fn a_new_network_says_nothing() {
        assert!(Network::new(8, &mut Rng::new(1)).output(INPUT).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let network = random_network();
        let mut gradient = vec![1.0; network.len()];
        network.add_gradient(INPUT, -2.0, &mut gradient);
        for (index, derivative) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut network = network.clone();
                network.parameters[index] += by;
                network.output(INPUT)
            };
            let measured = 1.0 - 2.0 * (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((derivative - measured).abs() < 1e-8, "{index}: {derivative} {measured}");
        }
    }

    #[test]
    fn adam_fits_the_network_to_a_target() {
        let mut network = random_network();
        let mut adam = Adam::new(&network);
        let first = network.clone();
        for _ in 0..500 {
            let mut gradient = vec![0.0; network.len()];
            network.add_gradient(INPUT, network.output(INPUT) - 3.0, &mut gradient);
            adam.descend(&mut network, &gradient, 0.01);
        }
        assert!((first.output(INPUT) - 3.0).abs() > 0.5);
        assert!((network.output(INPUT) - 3.0).abs() < 1e-3, "{}", network.output(INPUT));
    }
}
